"""Importing spaql is light: it compiles nothing and loads nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = ["numba", "llvmlite", "matplotlib", "torch", "dask", "pandas", "scipy.stats", "rich", "typer"]


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120).stdout


def test_importing_loads_nothing_heavy():
    loaded = run(f"import sys, spaql; print(*[name for name in {HEAVY} if name in sys.modules])").split()
    assert loaded == []


def test_listing_the_problems_and_names_loads_no_plots_nor_statistics():
    loaded = run("import sys, spaql; spaql.problems(); dir(spaql); print(*sorted(sys.modules))").split()
    assert not {"matplotlib", "torch", "dask", "pandas", "scipy.stats"} & set(loaded)


def test_listing_the_problems_compiles_nothing():
    loaded = run(f"import sys, spaql; spaql.problems(); print(*[name for name in {HEAVY} if name in sys.modules])").split()
    assert loaded == []


@pytest.fixture(scope="module")
def loaded_to_learn():
    """The modules that learning and evaluating load where everything is compiled already."""
    scope = {}
    program = "import sys, spaql; a = spaql.SPAQL(spaql.make('cartpole')); a.learn(1, rollouts=2); a.evaluate(5).ci95"
    exec(program, scope)
    return set(run(program + "; print(*sorted(sys.modules))").split())


def test_learning_and_evaluating_loads_no_plots_nor_statistics(loaded_to_learn):
    assert not {"matplotlib", "torch", "dask", "pandas", "scipy.stats"} & loaded_to_learn


def test_code_on_disk_runs_without_what_compiling_needs(loaded_to_learn):
    assert "numba" in loaded_to_learn
    assert not {"numba.np.linalg", "numba.np.arraymath", "scipy.linalg"} & loaded_to_learn


def test_importing_registers_the_environments():
    made = run("import gymnasium, spaql; print(gymnasium.make('spaql/CartPole-v0').reset(seed=0)[0].shape)")
    assert made.strip() == "(4,)"


def test_importing_twice_warns_about_nothing():
    program = "import warnings; warnings.simplefilter('error'); import importlib, spaql; importlib.reload(spaql); print('quiet')"
    assert run(program).strip() == "quiet"


def test_all_public_names_exist():
    import spaql

    for name in spaql.__all__:
        assert getattr(spaql, name) is not None
    assert set(spaql.__all__) <= set(dir(spaql))


def test_other_names_do_not_exist():
    import spaql

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        spaql.nothing  # noqa: B018


def test_the_one_error_is_a_value_error():
    import spaql

    assert issubclass(spaql.SpaqlError, ValueError)
