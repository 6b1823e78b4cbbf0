"""Compiled code: what is on disk is used only as long as nothing it was made from has changed; what may be called."""

import os
import subprocess
import sys

import pytest

from spaql.compilers import Pool, started
from spaql.compiling import apart, compiled_sources, inlined, kernel, unit
from spaql.linking import Reference, needed_by


def test_the_fingerprint_covers_kernels_and_the_records_they_read():
    found = compiled_sources()
    assert {"compiling.py", "wide.py", "training/kernels.py", "learners/history.py", "plants/space.py"} <= set(found)
    assert "errors.py" not in found


@inlined
def doubled(x):
    return 2 * x


@apart
def tripled(x):
    return 3 * x


@kernel
def sixfold(x):
    return doubled(tripled(x))


def test_functions_inside_of_kernels_refuse_to_be_called_from_python_before_and_after_they_are_compiled():
    for _ in range(2):
        for function in (doubled, tripled):
            with pytest.raises(TypeError, match=f"{function.__name__} is for compiled code"):
                function(7)
        assert sixfold(7) == 42


COUNT = """
import spaql
agent = spaql.SPAQLTS(spaql.make("cartpole"), seed=0)
agent.learn(iterations=2, rollouts=2)
agent.evaluate(2)
from spaql.compilation import Counter
print(Counter.compiled)
"""


@pytest.mark.slow
def test_the_first_program_compiles_no_more_functions_than_it_did_and_nothing_the_second_time(tmp_path):
    environment = {**os.environ, "SPAQL_CACHE_DIR": str(tmp_path), "SPAQL_COMPILERS": "0"}
    counts = [
        int(subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert counts[0] <= 112  # 109 when this was written; each costs a new user a tenth of a second and more
    assert counts[1] == 0


@unit
def halved_often(x: float, times: int) -> float:
    for _ in range(times):
        x = doubled(x) / 4
    return x


@kernel
def eighth(x):
    return halved_often(x, 3)


def test_a_unit_is_compiled_by_the_process_itself_where_no_other_takes_it(monkeypatch):
    monkeypatch.setattr(sys, "executable", "no such program")
    monkeypatch.setenv("SPAQL_COMPILERS", "1")
    assert eighth(8.0) == 1.0


NOT_KEPT = """
import sys
started = []
sys.addaudithook(lambda event, args: started.append(args) if event == "subprocess.Popen" else None)
from test_compiling import eighth, sixfold
print(eighth(8.0), sixfold(7), len(started))
"""


def test_where_code_cannot_be_kept_nobody_compiles_for_others_and_it_is_said_once(tmp_path):
    (tmp_path / "file").touch()  # in the place of a folder: root can write everywhere else
    environment = {**os.environ, "SPAQL_CACHE_DIR": str(tmp_path / "file"), "SPAQL_COMPILERS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    told = subprocess.run([sys.executable, "-c", NOT_KEPT], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "1.0 42 0\n"
    assert told.stderr.count("SpaqlWarning") == 1
    assert f"cannot write to {tmp_path / 'file'}/code-" in told.stderr
    assert "compiled code is not kept, and every program compiles anew; set SPAQL_CACHE_DIR to a folder that can be written" in told.stderr


def test_a_process_that_cannot_make_a_unit_says_so_goes_on_and_ends_when_nobody_is_left_to_tell_it():
    process = started()
    assert not Pool().made(process, Reference("spaql.training.rollouts", "no_such_unit", None))
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) == 0


def test_the_functions_a_kernel_needs_are_read_off_its_source():
    assert {name.split(".")[-1] for name in needed_by(eighth)} == {"eighth", "halved_often", "doubled"}
