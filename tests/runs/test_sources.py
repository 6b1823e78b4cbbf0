"""Sources that decide about a run: whatever a run imports is in its key, and nothing that it cannot use."""

import re
import subprocess
import sys

import pytest

from helpers import quick_first
from spaql.runs import spec as module
from spaql.runs.spec import PACKAGE, UNUSED, Spec, imported_by, sources, sources_of

RUNS = {
    "SPAQL": Spec("oil-laplace", "SPAQL", 0, 2, 2, 4),
    "ZoomRL": Spec("oil-laplace", "ZoomRL", 0, 2, 2, 4),
    "Random": Spec("pendulum", "Random", 0, 1, 1, 4),
    "Atlas": Spec("oil-laplace", "Atlas", 0, 0, 0, 4, (("controller", "table"),), (200,), 3, True),
}

@pytest.mark.parametrize("algorithm", quick_first(RUNS, ["SPAQL", "Atlas"]))
def test_every_source_that_a_run_imports_is_in_its_key(algorithm):
    spec = RUNS[algorithm]
    program = f"""
import sys
from spaql.runs.compute import compute
from spaql.runs.spec import Spec

compute({spec!r})
print(*(module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "spaql"), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {line.removeprefix(f"{PACKAGE.as_posix()}/") for line in done.stdout.splitlines()}
    assert "runs/compute.py" in imported
    assert imported <= set(sources(algorithm))


@pytest.mark.parametrize("algorithm", [*RUNS, "TRPO", "SAC"])
def test_no_source_imports_an_unused_folder_when_it_is_loaded(algorithm):
    for name in sources(algorithm):
        at_once = re.findall(r"^(?:from|import) spaql\.(\w+)", (PACKAGE / name).read_text("utf-8"), re.MULTILINE)
        assert not set(at_once) & set(UNUSED), name


def test_plants_and_learners_count_whole_and_rivals_only_where_they_run():
    ours, trpo, sac, atlas = (set(sources(name)) for name in ("SPAQL", "TRPO", "SAC", "Atlas"))
    assert {"plants/problem.py", "learners/update.py", "learners/atlas/learner.py", "training/rollouts.py", "ground/streams.py"} <= ours
    assert trpo - ours == {"runs/rivals.py"}
    assert sac - ours == {"runs/rivals.py"}
    assert "compress/tree_search.py" in atlas - ours
    assert not {name.split("/")[0] for name in atlas} & {"analysis", "studies", "report", "cli", "data", "export"}


def test_a_new_import_is_followed_wherever_it_stands(tmp_path, monkeypatch):
    package = tmp_path / "spaql"
    texts = {
        "__init__.py": "",
        "start.py": "if TYPE_CHECKING:\n    from spaql.types import A\n\nfrom spaql.pair import (\n    one,\n    two,\n)\n",
        "pair/__init__.py": "",
        "pair/one.py": "def f():\n    import spaql.late\n",
        "pair/two.py": "from spaql.unused.far import g\n",
        "late.py": 'LOOP = "spaql.named:Loop"',
        "named.py": "",
        "types.py": "",
        "unused/far.py": "",
    }
    for name, text in texts.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(module, "START", "start.py")
    monkeypatch.setattr(module, "UNUSED", ("unused",))
    assert set(sources_of(package)) == {"__init__.py", "start.py", "pair/__init__.py", "pair/one.py", "pair/two.py", "late.py", "named.py"}


def test_runs_know_no_study_and_tools_of_analysis_know_no_runs():
    for folder, above in (("runs", ("studies", "report", "cli")), ("analysis", ("runs", "studies", "report", "cli"))):
        for path in (PACKAGE / folder).glob("*.py"):
            assert not {name.split(".")[1] for name in imported_by(path) if "." in name} & set(above), path
