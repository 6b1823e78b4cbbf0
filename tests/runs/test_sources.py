"""Sources that decide about a run: whatever a run imports is in its key, and nothing that it cannot use."""

import ast
import re
import subprocess
import sys

import pytest

from helpers import quick_first
from spaql_studies.runs import spec as module
from spaql_studies.runs.spec import DECIDING, HOME, UNUSED, Spec, imported_by, sources, sources_of

RUNS = {
    "SPAQL": Spec("oil-laplace", "SPAQL", 0, 2, 2, 4),
    "ZoomRL": Spec("oil-laplace", "ZoomRL", 0, 2, 2, 4),
    "Random": Spec("pendulum", "Random", 0, 1, 1, 4),
    "Atlas": Spec("oil-laplace", "Atlas", 0, 0, 0, 4, (("controller", "table"),), (200,), 3, True),
}

@pytest.mark.parametrize("algorithm", quick_first(RUNS, ["SPAQL"]))
def test_every_source_that_a_run_imports_is_in_its_key(algorithm):
    spec = RUNS[algorithm]
    program = f"""
import sys
from spaql_studies.runs.compute import compute
from spaql_studies.runs.spec import Spec

compute({spec!r})
print(*(module.__file__ for name, module in sys.modules.items() if name.split(".")[0] in ("spaql", "spaql_studies")), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {line.removeprefix(f"{HOME.as_posix()}/") for line in done.stdout.splitlines()}
    assert "spaql_studies/runs/compute.py" in imported
    assert imported - {"spaql_studies/__init__.py"} <= set(sources(algorithm))


def test_the_one_file_that_runs_import_and_that_is_in_no_key_holds_no_code():
    assert [type(node) for node in ast.parse((HOME / "spaql_studies/__init__.py").read_text("utf-8")).body] == [ast.Expr]


@pytest.mark.parametrize("algorithm", [*RUNS, "TRPO", "SAC"])
def test_no_source_imports_an_unused_folder_when_it_is_loaded(algorithm):
    for name in sources(algorithm):
        at_once = re.findall(r"^(?:from|import) (spaql\w*\.\w+)", (HOME / name).read_text("utf-8"), re.MULTILINE)
        assert not {module.replace(".", "/") for module in at_once} & set(UNUSED), name


def test_plants_and_learners_count_whole_and_rivals_only_where_they_run():
    ours, trpo, sac, atlas = (set(sources(name)) for name in ("SPAQL", "TRPO", "SAC", "Atlas"))
    deciding = ("plants/problem.py", "learners/update.py", "learners/atlas/learner.py", "training/rollouts.py", "ground/streams.py")
    assert {f"spaql/{name}" for name in deciding} <= ours
    assert trpo - ours == {"spaql_studies/runs/rivals.py"}
    assert sac - ours == {"spaql_studies/runs/rivals.py"}
    assert "spaql/compress/tree_search.py" in atlas - ours
    assert not {"/".join(name.split("/")[:2]) for name in atlas} & {*UNUSED, "spaql_studies/page.py", "spaql_studies/study.py"}


def test_a_new_import_is_followed_wherever_it_stands(tmp_path, monkeypatch):
    texts = {
        "spaql/__init__.py": "",
        "spaql/start.py": "if TYPE_CHECKING:\n    from spaql.types import A\n\nfrom spaql.pair import (\n    one,\n    two,\n)\n",
        "spaql/pair/__init__.py": "",
        "spaql/pair/one.py": "def f():\n    import spaql.late\n",
        "spaql/pair/two.py": "from spaql.unused.far import g\n",
        "spaql/late.py": 'LOOP = "spaql.named:Loop"',
        "spaql/named.py": "",
        "spaql/types.py": "",
        "spaql/unused/far.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "START", "spaql/start.py")
    monkeypatch.setattr(module, "UNUSED", ("spaql/unused",))
    left_out = {"spaql/types.py", "spaql/unused/far.py"}
    assert set(sources_of(tmp_path)) == set(texts) - left_out


def test_what_decides_about_runs_knows_no_study():
    for folder in DECIDING:
        paths = [path for path in (HOME / folder).rglob("*.py") if path.relative_to(HOME).as_posix() in sources("Atlas")]
        assert paths
        for path in paths:
            known = {name for name in imported_by(path) if name.startswith("spaql_studies.")}
            assert all(name.startswith("spaql_studies.runs") for name in known), path
