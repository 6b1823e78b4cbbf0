"""The fields of a CSV file stand in the columns that the header names: no row is shifted, cut or filled up in silence."""

import numpy as np
import pytest

import spaql
from command_line import refused
from spaql.data.table import read_table

FIRST_COLUMNS = {
    "counts up": [f"{n}" for n in range(7, 27)],
    "repeats": ["3"] * 20,
    "is empty": [""] * 20,
    "has floats": [f"{0.5 * n}" for n in range(20)],
    "has words": [f"row {n}" for n in range(20)],
}
COMMAS = {  # at the ends of the lines, header first: what is then refused
    "behind all rows": (["", *[","] * 20], "row 1: it has 7 fields and the header 6 fields"),
    "behind one row": (["", *[""] * 11, ",", *[""] * 8], "row 12: it has 7 fields and the header 6 fields"),
    "behind the header": ([",", *[""] * 20], "row 1: it has 6 fields and the header 7 fields"),
}


def tank_log(first, ends, last):
    """The column of numbers that is logged by the way, the needed ones, and `last` behind all others."""
    needed = {"level": "1.{:02d}", "inflow": "0.2", "pump": "{}", "reward": "-0.{:02d}", "note": "dry"}
    order = [*(name for name in needed if name != last), last]
    rows = [[needed[name].format(n % 2 if name == "pump" else n) for name in order] for n in range(20)]
    lines = [["id", *order], *([head, *row] for head, row in zip(first, rows, strict=True))]
    return "\n".join(",".join(line) + end for line, end in zip(lines, ends, strict=True))


@pytest.fixture(scope="module")
def tank():
    level, inflow = spaql.Axis("level", 0.0, 2.0), spaql.Axis("inflow", 0.0, 0.5)
    return spaql.Problem("tank", "", (level, inflow), spaql.Finite((0, 1), names=("pump",)), 500)


@pytest.mark.parametrize("last", ["note", "level"])
@pytest.mark.parametrize("commas", COMMAS)
@pytest.mark.parametrize("first", FIRST_COLUMNS)
def test_rows_with_another_number_of_fields_than_the_header_are_refused(first, commas, last, tank, tmp_path):
    """pandas alone would take the first column for a name of the rows, and shift all others by one."""
    (ends, words), path = COMMAS[commas], tmp_path / "log.csv"
    path.write_text(tank_log(FIRST_COLUMNS[first], ends, last))
    for read in (spaql.SPAQL(tank).replay, lambda log: spaql.coverage(tank, log), lambda log: spaql.from_data(tank, log)):
        with pytest.raises(spaql.SpaqlError, match=words):
            read(path)


@pytest.mark.parametrize("ends", [[""] * 21, [","] * 21])
@pytest.mark.parametrize("first", FIRST_COLUMNS)
def test_rows_as_long_as_the_header_are_read_by_position(first, ends, tank, tmp_path):
    (tmp_path / "log.csv").write_text(f"\n{tank_log(FIRST_COLUMNS[first], ends, 'level')}\n \n\n")  # blank lines are no rows
    level = spaql.coverage(tank, tmp_path / "log.csv").ranges[0]
    assert level.seen == (1.0, 1.19)


def test_short_and_long_rows_are_refused_on_the_command_line(tmp_path):
    frame = spaql.record(spaql.make("pendulum"), episodes=2)[["step", "cos", "sin", "velocity", "torque", "reward"]]
    head, *rows = frame.to_csv(index=False).splitlines()
    for line, fields in (("0,1,0", 3), (f"{rows[-1]},", 7), (f"{rows[-1]},1", 7)):
        (tmp_path / "log.csv").write_text("\n".join([head, *rows[:-1], line]))
        words = f"log.csv, row 400: it has {fields} fields and the header 6 fields"
        assert words in refused("replay", "pendulum", "spaql", tmp_path / "log.csv", "--out", tmp_path / "out")
        assert words in refused("coverage", "pendulum", tmp_path / "log.csv")


LOG = "cos;sin;velocity;action;reward\n{}1,0;0;0,5;0;0\n1,0;0,0;-0,5;1,25;0\n"


@pytest.mark.parametrize("units", ["", "-;-;rad/s;N m;\n", "[-];[-];[rad/s];[N m];\n"])
def test_semicolons_decimal_commas_and_a_row_of_units_are_read_as_what_they_are(units, tmp_path):
    (tmp_path / "log.csv").write_text(LOG.format(units))
    table = read_table(tmp_path / "log.csv")
    assert table.numbers("velocity").tolist() == [0.5, -0.5]
    assert table.numbers("action").tolist() == [0.0, 1.25]
    assert table.units.get("velocity", "") == ("rad/s" if units else "")


def test_tabs_separate_fields_too(tmp_path):
    (tmp_path / "log.csv").write_text("a\tb\n1.5\t2\n3\t4\n")
    assert read_table(tmp_path / "log.csv").numbers("a").tolist() == [1.5, 3.0]


def test_decimal_commas_between_commas_stay_an_error(tmp_path):
    (tmp_path / "log.csv").write_text('cos,sin,velocity,action,reward\n1,0,"0,5",0,0\n1,0,"0,7",0,0\n')
    with pytest.raises(spaql.SpaqlError, match="decimal point"):
        spaql.SPAQL(spaql.make("pendulum")).replay(tmp_path / "log.csv")


def test_a_log_too_long_to_be_meant_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("spaql.data.table.LARGEST", 10)
    (tmp_path / "log.csv").write_text("a\n" + "1\n" * 20)
    with pytest.raises(spaql.SpaqlError, match="21 rows, more than 10: cut it"):
        read_table(tmp_path / "log.csv")


def test_a_measurement_in_mdf_has_its_time_and_its_units(tmp_path):
    asammdf = pytest.importorskip("asammdf")
    times, file = np.arange(50) * 0.01, asammdf.MDF(version="4.10")
    file.append([asammdf.Signal(np.sin(times), times, name="level", unit="m"), asammdf.Signal(times * 0, times, name="inflow", unit="m3/s")])
    file.save(tmp_path / "log.mf4")
    table = read_table(tmp_path / "log.mf4")
    assert np.allclose(table.numbers("time"), times)
    assert np.allclose(table.numbers("level"), np.sin(times))
    assert table.units == {"level": "m", "inflow": "m3/s"}
