"""A column keeps one unit, and so do columns that are compared with each other."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import builders

from foretrain.evidence.report import WRITE
from foretrain.measured.run import Subject
from foretrain.search.report.ranking import pareto, ranking
from foretrain.show.report import Pieces
from foretrain.show.table import Column, Table
from foretrain.show.terminal import blocks
from foretrain.show.words import in_one_unit, signed, span, written
from foretrain.step.facts import time_pieces
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS

VALUES = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=8)


def units(cells):
    return {cell.rsplit(" ", 1)[1] for cell in cells if cell}


def plain(content):
    console = Console(file=StringIO(), width=80)
    console.print(content)
    return console.file.getvalue()


def column(table, name):
    place = [each.name for each in table.columns].index(name)
    return [row[place] for row in table.rows]


@given(values=VALUES, quantity=st.sampled_from([SECONDS, BYTES, DOLLARS, JOULES]))
def test_values_of_one_quantity_have_one_unit(values, quantity):
    texts = in_one_unit([written(quantity, value) for value in values])
    assert len({text.split(" ", 1)[1] for text in texts}) == 1


@given(value=st.floats(1e-6, 1e9))
def test_a_value_alone_is_written_as_ever(value):
    assert in_one_unit([written(SECONDS, value)]) == (written(SECONDS, value),)


def test_the_unit_is_that_of_the_median_and_zero_has_no_say():
    texts = [written(SECONDS, value) for value in (0.0, 0.9, 1.1, 65.0)]
    assert in_one_unit(texts) == ("0 s", "0.9 s", "1.1 s", "65 s")
    assert in_one_unit([written(SECONDS, 0.0)]) == ("0 s",)


def test_parts_of_a_whole_have_the_unit_of_the_largest():
    texts = [written(SECONDS, value) for value in (4.7, 0.041, 0.02)]
    assert in_one_unit(texts, like=max) == ("4.7 s", "0.041 s", "0.02 s")
    parts = builders.estimate().parts
    shares = time_pieces(replace(parts, forward=4.7, update=0.02))
    text = plain(blocks([Pieces(quantity=SECONDS, pieces=shares)]))
    assert re.search(r"forward\s+4\.7 s", text)
    assert re.search(r"update\s+0\.02 s", text)


def test_next_to_nothing_needs_no_powers_of_ten():
    texts = [written(SECONDS, value) for value in (4.7, 1e-4, 9e-5, 0.0)]
    assert in_one_unit(texts, like=max) == ("4.7 s", "0.0001 s", "<0.0001 s", "0 s")
    assert written(DOLLARS, 3.2e-6) == "3.2e-06 USD"


def test_texts_beside_values_and_other_quantities_stay():
    texts = [written(SECONDS, 0.5), "no room", written(SECONDS, 2.0), "", written(BYTES, 2.0**30)]
    assert in_one_unit(texts) == ("0.5 s", "no room", "2 s", "", "1 GiB")


def test_signs_rates_and_intervals_change_their_unit_too():
    texts = [
        signed(SECONDS, -0.25),
        signed(SECONDS, 3.0),
        written(SECONDS, 4.0, frame="{}/step"),
        span(0.5, 90.0, SECONDS),
    ]
    assert in_one_unit(texts) == ("-0.25 s", "+3 s", "4 s/step", "0.5 to 90 s")


def test_columns_of_a_group_share_their_unit():
    columns = (Column(name="a", group="x"), Column(name="b", group="x"), Column(name="c"))
    rows = ((written(SECONDS, 2.0), written(SECONDS, 0.5), written(SECONDS, 0.5)),)
    assert Table(columns=columns, rows=rows).rows == (("2 s", "0.5 s", "500 ms"),)


def test_ranking_and_front_keep_one_unit_for_time_memory_cost_and_energy():
    result = builders.search_result(keep=3)
    far = [
        replace(
            entry,
            estimate=replace(
                entry.estimate, step_time=0.3 * 40**place, cost_per_step=0.5 * 40**place
            ),
        )
        for place, entry in enumerate(result.plans)
    ]
    shown = ranking(far)
    assert len(units(column(shown, "step"))) == 1
    points = [
        replace(point, step_time=0.3 * 40**place, energy_per_step=900.0 * 40**place)
        for place, point in enumerate(result.pareto * 3)
    ]
    front = pareto(points)
    assert len(units(column(front, "step"))) == len(units(column(front, "energy per step"))) == 1


@pytest.mark.parametrize("subject", Subject)
def test_measured_values_of_every_subject_can_share_a_unit(subject):
    texts = in_one_unit([WRITE[subject](value) for value in (0.001, 0.5, 900.0)])
    assert len(units(texts)) == 1
