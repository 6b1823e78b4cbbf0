"""What exported programs have in common: what they say about themselves, their identifiers, their numbers."""

import csv
import io
import subprocess

import numpy as np
import pytest

import spaql
from exported_policies import built, leaf, plane, policies, split
from exported_programs import COMPILERS, needs_compiler
from spaql.export import export
from spaql.export.heading import C_WORDS, ST_WORDS, double, identifiers, single, single_at_least


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


def side_of(names):
    return built(plane(names), 2, 1, split(0, 0.5, leaf(1.0), split(1, 0.25, leaf(2.0), leaf(3.0))))


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_names_that_compilers_define_as_macros_compile_in_their_default_dialect(compiler, tmp_path):
    told = subprocess.run([compiler, "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True).stdout
    macros = [line.split()[1].split("(")[0] for line in told.splitlines()]
    names = [*(name for name in macros if not name.startswith("_")), "linux", "unix", "i386", "arm"]
    assert set(names) <= C_WORDS
    for first, second in zip(names, names[::-1], strict=True):
        source = export(side_of((first, second)), "c")
        (tmp_path / "controller.c").write_text(source)
        subprocess.run([compiler, "-Wall", "-Werror", "-c", "-o", tmp_path / "controller.o", tmp_path / "controller.c"], check=True)


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_no_cell_of_csv_is_a_formula(sign):
    name = f"{sign}cmd|' /C calc'!A1"
    rows = list(csv.reader(io.StringIO(export(side_of((name, "y")), "csv"))))
    assert rows[0][0] == f"'{name} [m] from"
    law = spaql.law(plane((name, "y")), {name: -2.0, "y": 1.0}, 0.0)
    for row in csv.reader(io.StringIO(export(law, "csv", share=False))):
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            if cell.startswith("-"):
                float(cell)  # a number is no formula


def test_half_of_a_surrogate_pair_in_a_policy_file_is_refused():
    text = export(side_of(("x", "y")), "json").replace('"name": "y"', '"name": "\\ud800"')
    assert "ud800" in text
    with pytest.raises(spaql.SpaqlError, match="surrogate"):
        spaql.Policy.from_json(text)
