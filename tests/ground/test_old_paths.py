"""Paths that docs and examples have named before work for one release more, and say where their things are now."""

import importlib
import subprocess
import sys

import pytest

import spaql
from spaql.old_paths import MOVED, PUBLIC, RENAMED

# What docs, README and examples named: old module and name, and where the very same object is now
NAMED = [
    ("spaql.analysis.comparing", "compare", "spaql.analysis.comparison"),
    ("spaql.analysis.comparing", "Comparison", "spaql.analysis.comparison"),
    ("spaql.data.recording", "record", "spaql.data.record"),
    ("spaql.errors", "SpaqlError", "spaql.ground.errors"),
    ("spaql.experiments.runner", "run_missing", "spaql_studies.runs.runner"),
    ("spaql.experiments.sweep", "run_sweep", "spaql_studies.sweep"),
    ("spaql.explain.arena", "Arena", "spaql.compress.arena"),
    ("spaql.explain.compress", "compress", "spaql.compress.compress"),
    ("spaql.explain.equality", "differences", "spaql.trees.equality"),
    ("spaql.explain.export", "policy_from_json", "spaql.export.json_form"),
    ("spaql.explain.export", "FORMATS", "spaql.export"),
    ("spaql.explain.policy", "Policy", "spaql.policy.policy"),
    ("spaql.explain.rolling", "play_episodes", "spaql.training.closed_loop"),
    ("spaql.explain.tree", "leaf_of", "spaql.trees.tree"),
    ("spaql.explain.tree", "Builder", "spaql.trees.tree"),
    ("spaql.files", "load", "spaql.learners.files"),
    ("spaql.plants.checking", "check", "spaql.plants.check"),
    ("spaql.plants.making", "make", "spaql.plants.make"),
    ("spaql.runs.compute", "compute", "spaql_studies.runs.compute"),
    ("spaql.runs.rivals", "run_rival", "spaql_studies.runs.rivals"),
    ("spaql.runs.rows", "read_rows", "spaql_studies.runs.rows"),
    ("spaql.runs.store", "Store", "spaql_studies.runs.store"),
    ("spaql.studies.foreign.plants", "PLANTS", "spaql_studies.foreign.plants"),
    ("spaql.studies.load", "load_results", "spaql_studies.load"),
    ("spaql.studies.parts", "specs_of", "spaql_studies.parts"),
    ("spaql.studies.sweep", "sweep", "spaql_studies.sweep"),
    ("spaql.training.history", "History", "spaql.learners.history"),
    ("spaql.training.history", "Evaluation", "spaql.policy.evaluation"),
    ("spaql.training.recording", "Episode", "spaql.training.episode"),
]


def imported(old):
    """The module as if for the first time."""
    sys.modules.pop(old, None)
    return importlib.import_module(old)


@pytest.mark.parametrize(("old", "name", "new"), NAMED)
def test_an_old_path_gives_the_very_same_object_and_warns_with_the_new_one(old, name, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        module = imported(old)
    assert getattr(module, name) is getattr(importlib.import_module(new), RENAMED.get((old, name), name))


def test_every_path_of_the_table_is_tested():
    assert {old for old, _, _ in NAMED} == set(MOVED)


@pytest.mark.parametrize("old", PUBLIC)
def test_what_is_public_by_now_is_recommended(old):
    with pytest.warns(DeprecationWarning, match=f"or better {PUBLIC[old].split(' ')[0]}"):
        imported(old)
    for name in PUBLIC[old].split(" and ")[0].removeprefix("spaql.").split("."):
        assert hasattr(spaql.Policy if name == "from_json" else spaql, name)


def test_from_imports_and_attributes_work_as_before():
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from spaql.explain.export import policy_from_json\n"
        "import spaql.explain.tree\n"
        "print(spaql.explain.tree.Builder.__module__, policy_from_json.__module__)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["spaql.trees.tree", "spaql.export.json_form"]


def test_names_and_modules_that_never_existed_do_not_exist():
    with pytest.warns(DeprecationWarning, match=r"spaql\.explain\.tree"):
        module = imported("spaql.explain.tree")
    with pytest.raises(AttributeError):
        module.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("spaql.explain.nothing")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("spaql.nothing")


def test_importing_spaql_warns_of_nothing_and_loads_none_of_them():
    program = "import warnings; warnings.simplefilter('error'); import sys, spaql; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & (set(MOVED) | {"spaql.explain", "spaql.experiments"})


def test_environments_of_old_stores_and_agent_files_are_registered_under_the_module_of_then():
    program = "import spaql, gymnasium, spaql.studies.foreign.plants; print('pc-gym/cstr-v0' in gymnasium.registry)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "True\n"
