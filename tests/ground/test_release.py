"""A release that somebody can install: sdist and wheel are complete, hold nothing else, and are enough in an empty environment."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import pytest

import spaql
from pages import ROOT, blocks_of

pytestmark = pytest.mark.slow
NAME = f"spaql-{spaql.__version__}"
SUPPORTED = ["3.11", "3.12", "3.13"]
EXTRAS = {"trpo", "dask", "box2d", "mujoco", "fmi", "foreign", "docs", "tensorboard", "sweep", "dev"}
# What only extras bring: a module that needs one of these may fail to load without it, and nothing else may
OF_EXTRAS = {"torch", "stable_baselines3", "sb3_contrib", "distributed", "fmpy", "tensorboardX", "optuna", "pcgym", "gym_electric_motor", "mujoco"}
EVERY_MODULE = f"""
import importlib, itertools, pkgutil, spaql, spaql_command, spaql_studies
ours, studies = (pkgutil.walk_packages(package.__path__, f"{{package.__name__}}.") for package in (spaql, spaql_studies))
for module in itertools.chain(ours, studies):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in {OF_EXTRAS}, f"{{module.name}}: {{error}}"
print("every module")
"""


def done(*words, folder, **settings):
    """What a program prints, far from the source: neither its folder nor the variables of Python lead to it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPAQL", "VIRTUAL_ENV"))}
    told = subprocess.run(
        [str(word) for word in words], cwd=folder, env=clean | settings, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, f"{words}\n{told.stdout[-2000:]}\n{told.stderr[-3000:]}"
    return told.stdout


def tracked(*under):
    """The files of the repository, as they are now: what a clean copy holds."""
    told = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *under], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in told.stdout.split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """sdist and wheel of a clean copy; the wheel is made from the sdist."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("a release is built from a git repository, and this is none")
    copy, made = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    done(sys.executable, "-m", "build", "--outdir", made, copy, folder=made)
    assert {path.name for path in made.iterdir()} == {f"{NAME}.tar.gz", f"{NAME}-py3-none-any.whl"}
    return made / f"{NAME}.tar.gz", made / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built[1]) as wheel:
        return email.message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))


def test_the_wheel_holds_the_package_with_all_its_data_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        held = {name for name in wheel.namelist() if not name.startswith(f"{NAME}.dist-info/")}
        assert f"{NAME}.dist-info/licenses/LICENSE" in wheel.namelist()
    assert held == {name.removeprefix("src/") for name in tracked("src")}
    assert {"spaql/py.typed", "spaql/report/style.css", "spaql_studies/py.typed", "spaql_studies/published/trpo.parquet", "spaql_command.py"} <= held


def test_the_sdist_holds_what_the_wheel_is_made_of_and_nothing_else(built):
    with tarfile.open(built[0]) as sdist:
        held = {name.removeprefix(f"{NAME}/") for name in sdist.getnames() if sdist.getmember(name).isfile()}
    papers = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "MANIFEST.in"}
    made = {"PKG-INFO", "setup.cfg", *(name for name in held if name.startswith("src/spaql.egg-info/"))}
    assert held == tracked("src") | papers | made


def test_what_an_index_says_of_the_release(metadata):
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("spaql", spaql.__version__, "MIT")
    assert metadata["Requires-Python"] == ">=3.11"
    versions = [one.rpartition(" ")[2] for one in metadata.get_all("Classifier") if re.search(r":: 3\.\d+$", one)]
    assert versions == SUPPORTED
    assert set(metadata.get_all("Provides-Extra")) == EXTRAS
    assert metadata.get_all("Project-URL") == ["Paper, https://arxiv.org/abs/2011.02141"]


def test_the_page_on_an_index_is_the_readme(metadata):
    from markdown_it import MarkdownIt

    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True).decode()
    assert text.strip() == (ROOT / "README.md").read_text("utf-8").strip()
    page = MarkdownIt("commonmark").enable("table").render(text)
    assert page.startswith("<h1>spaql</h1>")
    assert page.count("<table>") == len(re.findall(r"^\|[-|]+\|$", text, re.MULTILINE))


def test_the_citation_names_this_version():
    assert f"\nversion: {spaql.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def interpreter(version):
    """Python of this version on this machine, or None."""
    places = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for place in filter(None, [sys.executable, *places]):
        if python_of(place) == version:
            return place
    return None


def python_of(place):
    ask = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize("version", SUPPORTED)
def test_the_quickstart_runs_in_an_empty_environment(version, built, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    sdist, wheel = built
    done(python, "-m", "venv", tmp_path / "empty", folder=tmp_path)
    python, command, far = tmp_path / "empty/bin/python", tmp_path / "empty/bin/spaql", tmp_path / "far"
    far.mkdir()
    done(python, "-m", "pip", "install", "--quiet", wheel, folder=far)
    settings = {"SPAQL_CACHE_DIR": str(tmp_path / "cache"), "MPLBACKEND": "agg"}

    assert done(command, "--version", folder=far) == f"spaql {spaql.__version__}\n"
    assert done(python, "-c", EVERY_MODULE, folder=far, **settings) == "every module\n"
    program = "\n".join(next(block for block in blocks_of((ROOT / "README.md").read_text("utf-8")) if block.language == "python").lines)
    assert "push = 1 if " in done(python, "-c", program, folder=far, **settings)
    assert "void controller" in (far / "controller.c").read_text()
    if python_of(sys.executable) == version:  # the commands once
        commands_run(command, far, settings)

    done(python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "other", sdist, folder=far)
    where = textwrap.dedent("""
        import pathlib, sys
        sys.path.insert(0, sys.argv[1])
        import spaql
        print(spaql.__version__, pathlib.Path(spaql.__file__).is_relative_to(sys.argv[1]))
        """)
    assert done(python, "-c", where, tmp_path / "other", folder=far) == f"{spaql.__version__} True\n"


def commands_run(command, far, settings):
    done(command, "reproduce", "--quick", "--only", "main-cartpole", "--store", "demo", "--quiet", folder=far, **settings)
    assert "</html>" in (far / "demo" / "report.html").read_text("utf-8")
    done(command, "train", "cartpole-fitted", "laws", "--samples", 2_000_000, "--option", "max_leaves=1", "--out", "results", folder=far, **settings)
    done(command, "explain", "results/agent.spaql", "--html", "controller.html", folder=far, **settings)
    assert "</html>" in (far / "controller.html").read_text("utf-8")
