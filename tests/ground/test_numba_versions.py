"""The oldest and the newest supported Numba, each in an environment of its own: agents are the same to the bit."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from pages import ROOT
from small_agents import AGENTS, digest
from spaql.ground.numba_public import OLDEST, UNTESTED

pytestmark = pytest.mark.slow
OLD = "==" + ".".join(map(str, (*OLDEST, 0)))
NEW = "<" + ".".join(map(str, UNTESTED))
PROGRAM = ROOT / "tests" / "small_agents.py"


def run(*words, folder, **settings):
    """Far from the source: neither the folder nor the variables of Python lead to it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPAQL", "VIRTUAL_ENV"))}
    words = [str(word) for word in words]
    return subprocess.run(words, cwd=folder, env=clean | settings, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=[OLD, NEW], ids=["oldest", "newest"])
def environment(request, tmp_path_factory):
    """The interpreter of an empty environment with this Numba and this package, and a folder for compiled code."""
    folder = tmp_path_factory.mktemp("numba")
    copy = folder / "copy"
    copy.mkdir()
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, copy / name)
    assert run(sys.executable, "-m", "venv", folder / "empty", folder=folder).returncode == 0
    python = folder / "empty" / "bin" / "python"
    told = run(python, "-m", "pip", "install", "--quiet", "--no-compile", f"numba{request.param}", copy, folder=folder)
    assert "ResolutionImpossible" not in told.stderr, told.stderr  # the bounds of the package exclude it
    if told.returncode != 0:
        pytest.skip(f"pip cannot install numba{request.param} here: {told.stderr.strip().splitlines()[-1]}")
    return python, folder


def agents(environment, *words):
    """The module through which they were compiled, the version of Numba, and the digests."""
    python, folder = environment
    told = run(python, PROGRAM, *words, folder=folder, SPAQL_CACHE_DIR=str(folder / "cache"), SPAQL_PROGRESS="0")
    assert told.returncode == 0, told.stderr
    first, *digests = told.stdout.splitlines()
    return *first.split(), digests, told.stderr


def expected(*names):
    return [f"{name} {digest(AGENTS[name]())}" for name in names]


def test_agents_are_the_same_to_the_bit_with_every_supported_numba(environment, request):
    """Each Numba brings an LLVM of its own. Without fastmath none may change what arithmetic gives."""
    way, version, digests, warned = agents(environment, *AGENTS)
    release = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    assert release == OLDEST if "oldest" in request.node.name else OLDEST < release < UNTESTED
    assert (way, warned) == ("spaql.ground.numba_internals", "")
    assert digests == expected(*AGENTS)


def test_laws_are_the_same_through_its_public_interfaces(environment):
    way, _, digests, _ = agents(environment, "laws", "--without", "CFunc")
    assert (way, digests) == ("spaql.ground.numba_public", expected("laws"))
