"""Cells of a log: every way to write a number, a moment and a duration, and what is none."""

import pytest

from foretrain.study.traces.format import Row

YEAR_2017 = 1_507_532_515.0  # 2017-10-09 07:01:55 UTC, by date(1)


def read(kind, cell):
    """What is read of a cell, and whether something is wrong with it."""
    row = Row({"cell": cell}, 7)
    return getattr(row, kind)("cell"), bool(row.problems)


@pytest.mark.parametrize("cell", ["", "  ", "Unknown", "NONE", "n/a", "null"])
def test_cells_that_say_nothing(cell):
    assert not Row({"cell": cell}, 1).has("cell")
    assert read("text", cell) == ("", False)
    for kind in ("number", "count", "moment", "duration"):
        row = Row({"cell": cell}, 1)
        getattr(row, kind)("cell")
        assert row.problems == ["cell is empty. Fill it in, or leave the line out."]


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        *(("number", "-1.5", -1.5), ("number", "9.9e14", 9.9e14), ("number", "-9.9e14", -9.9e14)),
        *(("count", "0", 0), ("count", "8", 8), ("count", "8.0", 8)),
        *(("moment", "-3", -3.0), ("moment", "12.5", 12.5), ("moment", "0", 0.0)),
        ("moment", "2017-10-09 07:01:55", YEAR_2017),
        ("moment", "2017-10-09T07:01:55", YEAR_2017),
        ("moment", "2017-10-09T09:01:55+02:00", YEAR_2017),
        ("moment", "2017-10-09", YEAR_2017 - 7 * 3600 - 115),
        *(("duration", "0", 0.0), ("duration", "90.5", 90.5), ("duration", "2:03", 123.0)),
        ("duration", "1:02:03", 3723.0),
        ("duration", "2-01:02:03", 2 * 86_400.0 + 3723.0),
        ("duration", "9.9e14", 9.9e14),
    ],
)
def test_cells_that_say_something(kind, cell, value):
    assert read(kind, cell) == (value, False)


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        *((kind, cell) for kind in ("number", "moment") for cell in ("x", "nan", "inf", "1e15")),
        *(("count", cell) for cell in ("-1", "1.5", "x", "1e15")),
        *(("number", "-1e15"), ("moment", "2017-13-01"), ("moment", "yesterday")),
        *(("duration", cell) for cell in ("-1", "-1:00", "x", "1:x", "x-1:00", "1e15", "nan")),
    ],
)
def test_cells_that_cannot_be(kind, cell):
    value, wrong = read(kind, cell)
    assert wrong
    assert value in {0.0, 1.0}  # so that reading can go on
