"""Compiled code: what is on disk is used only as long as nothing it was made from has changed; what may be called."""

import os
import subprocess
import sys

import pytest

from spaql.ground.compiling import apart, inlined, kernel
from spaql.ground.numba_internals import needed_by
from spaql.ground.numba_public import compiled_sources


def test_the_fingerprint_covers_kernels_and_the_records_they_read():
    found = compiled_sources()
    assert {"ground/compiling.py", "ground/numba_internals.py", "ground/numba_public.py", "ground/wide.py", "training/kernels.py", "learners/history.py", "plants/axes.py"} <= set(found)
    assert "ground/errors.py" not in found


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
from spaql.ground.progress import compilation
print(compilation.count)
"""


@pytest.mark.slow
def test_the_first_program_compiles_no_more_functions_than_it_did_and_nothing_the_second_time(tmp_path):
    environment = {**os.environ, "SPAQL_CACHE_DIR": str(tmp_path)}
    counts = [
        int(subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert counts[0] <= 108  # 106 when this was written, 12 of them for the acceptance test; each costs a new user a tenth of a second and more
    assert counts[1] == 0


NOT_KEPT = """
from test_compiling import sixfold
print(sixfold(7))
"""


def test_where_code_cannot_be_kept_it_is_said_once(tmp_path):
    (tmp_path / "file").touch()  # in the place of a folder: root can write everywhere else
    environment = {**os.environ, "SPAQL_CACHE_DIR": str(tmp_path / "file")}
    environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    told = subprocess.run([sys.executable, "-c", NOT_KEPT], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "42\n"
    assert told.stderr.count("SpaqlWarning") == 1
    assert f"cannot write to {tmp_path / 'file'}/code-" in told.stderr
    assert "compiled code is not kept, and every program compiles anew; set SPAQL_CACHE_DIR to a folder that can be written" in told.stderr




def test_the_functions_a_kernel_needs_are_read_off_its_source():
    assert {name.split(".")[-1] for name in needed_by(sixfold)} == {"sixfold", "tripled", "doubled"}
