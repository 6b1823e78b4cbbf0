"""Numba: without one of its private interfaces all works through the public ones; a version that cannot work is one line."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import tomllib

import pytest

import spaql
from pages import ROOT
from small_agents import AGENTS
from spaql.ground.numba_public import OLDEST, RANGE, UNTESTED
from taken_away import INTERNALS, private_names, taken_away

PROGRAM = ROOT / "tests" / "small_agents.py"
SLOWER = "used through its public interfaces, so first runs compile two to three times as long; results are the same"


def run(*words, **settings):
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, *map(str, words)], env=os.environ | {"PYTHONPATH": path} | settings, capture_output=True, text=True, check=False
    )


def agents(*words):
    """The module through which they were compiled, and their digests."""
    told = run(PROGRAM, *words)
    assert told.returncode == 0, told.stderr
    first, *digests = told.stdout.splitlines()
    return first.split()[0], digests, told.stderr


def test_the_bounds_are_those_of_the_package():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert RANGE in needed
    assert OLDEST < UNTESTED


# -- taken away --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", private_names())
def test_the_private_interfaces_are_refused_without_one_of_their_names(name):
    spec = importlib.util.spec_from_file_location("spaql.ground.numba_internals", INTERNALS)
    with taken_away(name), pytest.raises((ImportError, AttributeError), match=rf"{name.split('.')[-1]}\b"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.slow
def test_without_a_private_name_laws_are_the_same_to_the_bit_and_a_warning_says_once_why_it_is_slow():
    way, digests, warned = agents("laws", "--without", "CFunc")
    assert (way, *agents("laws")[:2]) == ("spaql.ground.numba_public", "spaql.ground.numba_internals", digests)
    assert warned.count("SpaqlWarning") == 1
    assert re.search(rf"Numba [\d.]+ is not as expected \(cannot import name 'CFunc' .*\) and is {SLOWER}", warned)
    assert f"spaql {spaql.__version__} is tested with {RANGE}: pip install '{RANGE}'" in warned


@pytest.fixture(scope="module")
def expected():
    way, digests, warned = agents(*AGENTS)
    assert (way, warned) == ("spaql.ground.numba_internals", "")
    return digests


@pytest.mark.slow
@pytest.mark.parametrize("name", private_names())
def test_without_any_private_name_agents_are_the_same_to_the_bit(name, expected):
    assert agents(*AGENTS, "--without", name)[:2] == ("spaql.ground.numba_public", expected)


# -- other versions ----------------------------------------------------------------------------------------------------

COMMAND = """
import sys
{before}
import spaql_command
sys.argv = ["spaql", "train", "cartpole", "spaql", "--iterations", "1", "--out", {out!r}, "--quiet"]
spaql_command.main()
"""
BROKEN = "def gone(*_, **__):\n    raise TypeError('njit is gone')\nnumba.njit = gone"


def command(before, tmp_path):
    """One line for the user, whatever Numba there is."""
    program = COMMAND.format(before=textwrap.dedent(before), out=str(tmp_path / "out"))
    told = run("-c", program, SPAQL_CACHE_DIR=str(tmp_path / "cache"))
    assert (told.returncode, told.stdout) == (2, "")
    assert len(told.stderr.splitlines()) == 1, told.stderr
    return told.stderr


def test_a_numba_that_is_too_old_is_one_line(tmp_path):
    told = command("import numba\nnumba.__version__ = '0.62.1'", tmp_path)
    assert f"Numba 0.62.1 is too old; spaql {spaql.__version__} is tested with {RANGE}: pip install '{RANGE}'" in told


def test_a_numba_that_cannot_be_loaded_is_one_line(tmp_path):
    hook = """
    class Press:
        def find_spec(name, path=None, target=None):
            if name == "numba":
                raise ImportError("Numba needs NumPy 1.26 or less. Got NumPy 2.4.")
    sys.meta_path.insert(0, Press)
    """
    told = command(hook, tmp_path)
    assert re.search(r"Numba [\d.]+ cannot be loaded \(Numba needs NumPy 1.26 or less. Got NumPy 2.4.\); ", told)
    assert f"is tested with {RANGE}: pip install '{RANGE}'" in told


def test_a_numba_that_is_too_new_and_works_in_no_way_is_one_line(tmp_path):
    told = command(f"import numba\nnumba.__version__ = '0.99.0'\n{BROKEN}", tmp_path)
    assert "Numba 0.99.0 is too new (TypeError: njit is gone); " in told
    assert f"is tested with {RANGE}: pip install '{RANGE}'" in told


@pytest.mark.slow
def test_a_numba_that_is_too_new_and_works_is_used_through_its_public_interfaces(tmp_path):
    program = """
    import numba
    numba.__version__ = "0.99.0dev0+g1234"
    from spaql.ground.compiling import interfaces, kernel
    import spaql
    env = spaql.make("cartpole").open_env()
    print(interfaces.__name__, env.reset(seed=1)[0].shape)
    """
    told = run("-c", textwrap.dedent(program), SPAQL_CACHE_DIR=str(tmp_path))
    assert told.stdout == "spaql.ground.numba_public (4,)\n", told.stderr
    assert f"Numba 0.99.0dev0+g1234 is too new to have been tested and is {SLOWER}" in told.stderr
    assert told.stderr.count("SpaqlWarning") == 1
