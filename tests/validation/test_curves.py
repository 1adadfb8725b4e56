"""Curves from few devices: bars are kept, and the page says what comes out."""

import re
from pathlib import Path

import pytest
from validation.curves import MOST, PUBLISHED, from_all, from_few, linear, many, off, placed, steps

PAGE = Path(__file__).parents[2] / "docs" / "background" / "curves.md"


@pytest.mark.parametrize("application", PUBLISHED)
def test_many_devices_are_told_from_four_or_fewer(application):
    rows = many(application)
    assert min(row.devices for row in rows) >= 2 * from_few(application).seen
    assert off(from_few(application), rows) <= MOST < PUBLISHED[application].few


@pytest.mark.parametrize("application", PUBLISHED)
def test_a_fit_to_all_is_no_worse_than_the_published_one(application):
    assert off(from_all(application), steps(application)) <= PUBLISHED[application].everything


@pytest.mark.parametrize("application", PUBLISHED)
def test_the_page_says_what_comes_out(application):
    row = re.search(rf"^\| {application} \|(.+)\|$", PAGE.read_text(), re.MULTILINE)
    figures = [float(cell) / 100 for cell in row[1].split("|")[1:]]
    computed = (
        off(from_few(application), many(application)),
        PUBLISHED[application].few,
        linear(application),
        off(from_all(application), steps(application)),
        PUBLISHED[application].everything,
    )
    assert figures[: len(computed)] == pytest.approx(computed, abs=0.0011)


def test_devices_of_an_untold_placement_lie_as_even_as_can_be():
    untold = next(row for row in steps("bert") if (row.nodes, row.devices) == (8, 14))
    assert placed(untold) == (2, 2, 2, 2, 2, 2, 1, 1)
