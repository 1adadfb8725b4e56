"""Fit: tables give way to the terminal, what matters least first, and no cell is folded."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests import builders

from foretrain.plan.plan import Schedule, Sharding
from foretrain.search.report.ranking import pareto, ranking
from foretrain.show.table import Column, Table
from foretrain.show.terminal import fitted, left_out, width

RANKING = ranking(builders.search_result().plans)
PARETO = pareto(builders.search_result().pareto)
TABLES = pytest.mark.parametrize("content", [RANKING, PARETO])


def names(content):
    return [column.name for column in content.columns]


@TABLES
def test_table_with_room_enough_stays_as_it_is(content):
    assert fitted(content, width(content)) == content
    assert left_out(content, content) == ()


@TABLES
def test_headings_shorten_before_columns_go(content):
    shown = fitted(content, width(content) - 1)
    assert len(shown.columns) == len(content.columns)
    assert {"recom", "shard"} <= set(names(shown))
    assert left_out(content, shown) == ()


@TABLES
@given(room=some.integers(40, 120))
def test_fitted_table_is_no_wider_than_its_room(content, room):
    shown = fitted(content, room)
    assert width(shown) <= room
    assert all(len(row) == len(shown.columns) for row in shown.rows)
    assert len(shown.columns) + len(left_out(content, shown)) == len(content.columns)


@TABLES
def test_no_text_of_a_row_is_ever_cut(content):
    assert {text for row in fitted(content, 40).rows for text in row} <= {
        text for row in content.rows for text in row
    }


def test_size_of_a_shard_is_legible_at_80_columns():
    plan = builders.plan(sharding=Sharding.PARAMETERS, shard=128, schedule=Schedule.ZERO_BUBBLE)
    one, *rest = builders.search_result().plans
    shown = fitted(ranking([replace(one, plan=plan), *rest]), 80)
    assert {"z3/128", "zb"} <= set(shown.rows[0])
    assert {"z1", "1f1b"} <= set(shown.rows[1])


def test_columns_that_say_the_same_in_every_row_go_first():
    columns = (Column(name="first", spare=1), Column(name="other", spare=9))
    content = Table(columns=columns, rows=(("same", "one"), ("same", "two")))
    assert names(fitted(content, 7)) == ["other"]
    assert left_out(content, fitted(content, 7)) == ("first",)


def test_degrees_time_and_memory_stay_to_the_last():
    shown = fitted(RANKING, 0)
    assert names(shown) == ["#", "tp", "pp", "dp", "mbs", "v", "step", "memory"]


def test_prose_is_as_wide_as_its_longest_word():
    content = Table(columns=(Column(name="why"),), rows=(("needs more memory",),))
    assert width(content) == len("memory")


def test_table_without_rows_is_as_wide_as_its_headings():
    columns = (Column(name="cost per step", number=True), Column(name="why"))
    assert width(Table(columns=columns, rows=())) == len("per step") + 1 + len("why")
