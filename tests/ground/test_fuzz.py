"""Public functions called with odd values work, or refuse in one short line (tests/fuzzed.py)."""

import pytest

import spaql
from fuzzed import fuzz, targets

RESULTS = {"Episode", "History", "Proof", "StepResponse", "Worst", "SpaqlError", "SpaqlWarning"}  # nobody makes these by hand
MODULES = {"analysis", "callbacks"}


def test_every_public_name_is_fuzzed():
    called = {name.partition(".")[0].partition(" ")[0] for name in targets()}
    assert set(spaql.__all__) - RESULTS - MODULES <= called
    functions = {name for name in spaql.analysis.__all__ if name[0].islower()}
    assert {f"analysis.{name}" for name in functions} <= set(targets())
    assert set(spaql.callbacks.__all__) - {"Callback"} <= called


def test_odd_values_are_refused_in_one_line():
    count = fuzz(150, 0)
    assert count.faults == {}
    assert sum(count.refused.values()) > 50


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 4))
def test_thousands_of_odd_values_are_refused_in_one_line(number):
    assert fuzz(4000, number).faults == {}
