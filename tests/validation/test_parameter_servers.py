"""Published runs with parameter servers: bars are kept, profiles are not scored."""

import re
from pathlib import Path

import pytest
from validation.parameter_servers import K80, P100, claims, linear, rows

PAGE = Path(__file__).parents[2] / "docs" / "background" / "curves.md"


@pytest.fixture(scope="module")
def barred():
    """The figures that have a bar."""
    return [claim for claim in claims() if claim.kept is not None]


def test_every_bar_is_kept(barred):
    assert len(barred) > 5
    assert not [claim.name for claim in barred if not claim.kept]


def test_the_page_says_what_comes_out(barred):
    page = PAGE.read_text()
    for claim in barred:
        row = re.search(rf"^\| {re.escape(claim.name)} \| ([0-9.]+) \|", page, re.MULTILINE)
        assert float(row[1]) / 100 == pytest.approx(claim.figure, abs=0.0011), claim.name


def test_the_row_of_one_device_is_a_profile_and_no_other_row_is():
    assert len(rows()) == 160 - 39
    assert {row.device for row in rows()} == {K80, P100}
    assert all(row.run.devices * row.run.hosts > 1 for row in rows())


def test_linear_scaling_is_a_profile_times_devices():
    row = next(row for row in rows() if row.run.hosts == 8)
    assert linear(row.run) == pytest.approx(64 * row.run.samples / row.run.alone)
