"""What exported programs have in common: what they say about themselves, their identifiers, their numbers."""

import numpy as np
import pytest

import spaql
from exported_policies import policies
from spaql.export import export
from spaql.export.names import C_WORDS, ST_WORDS, identifiers
from spaql.export.numbers import double, single, single_at_least


@pytest.mark.parametrize("to", ["c", "python", "st"])
def test_programs_say_what_they_are(to):
    text = export(policies()["cartpole"], to, name="balance")
    for fact in (
        "exact tree of SPAQL-TS on cartpole, seed 1",
        spaql.__version__,
        "angular velocity [rad/s]",
        "balance",
        "NaN",
    ):
        assert fact in text, fact


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "half"},
        {"form": "loop"},
        {"name": "2x"},
        {"name": "for"},
        {"name": "a b"},
        {"name": ""},
        {"name": None},
    ],
)
def test_bad_options_of_c_are_refused(options):
    with pytest.raises(spaql.SpaqlError):
        export(policies()["one leaf"], "c", **options)


@pytest.mark.parametrize(("to", "name"), [("python", "lambda"), ("st", "END_IF"), ("st", "a__b"), ("python", "x()")])
def test_reserved_words_are_no_names_of_functions(to, name):
    with pytest.raises(spaql.SpaqlError, match="the name of the function"):
        export(policies()["one leaf"], to, name=name)


def test_identifiers():
    assert identifiers(["angular velocity", "θ", "cos", "2nd", "", "é²", "a  b", "a_b"], C_WORDS) == [
        "angular_velocity", "theta", "cos_value", "x_2nd", "x4", "e2", "a_b", "a_b_2",
    ]  # fmt: skip
    assert identifiers(["X", "x", "END_IF", "__y__", "漢"], ST_WORDS, fold=True) == [
        "X",
        "x_2",
        "END_IF_value",
        "y",
        "x4",
    ]


def test_numbers_for_machines():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.normal(size=1000) * 10.0 ** rng.integers(-40, 38, 1000), [0.0, 1e-50, -1e-50, 1e-323, 3.5e38]]
    )
    for value in values.tolist():
        assert float(double(value)) == value
        if abs(value) < 3e38:
            assert np.float32(single(value)) == np.float32(value)
        at = np.float32(single_at_least(value))
        assert float(at) >= value
        assert float(np.nextafter(at, np.float32(-np.inf))) < value
    with pytest.raises(spaql.SpaqlError, match="single precision"):
        single(1e39)
