"""Compiled code: what is on disk is used only as long as nothing it was made from has changed; what may be called."""

import pytest

from spaql.compiling import apart, compiled_sources, inlined, kernel


def test_the_fingerprint_covers_kernels_and_the_records_they_read():
    found = compiled_sources()
    assert {"compiling.py", "training/kernels.py", "learners/history.py", "plants/space.py"} <= set(found)
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
