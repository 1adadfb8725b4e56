"""Trainers: lines hold of runs, releases follow dates, entries say nothing that means nothing."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.trainers.trainer import (
    ANY,
    Circumstances,
    Feature,
    Statement,
    Trainer,
    Where,
    recognised,
)

FLASH = Feature(
    name="attention",
    values=("plain", "flash"),
    lines=(
        Statement(value="plain", where=Where(before="2023"), source="a file"),
        Statement(value="flash", source="a file", prior=(("plain", 1.0), ("flash", 3.0))),
    ),
)
OLD = Trainer(name="old", date="2021-05-01", recognised=(Where(framework="ours"),))
NEW = Trainer(name="new", date="2024-05-01", container="24.05", recognised=OLD.recognised)
EVERY = (NEW, OLD)


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        (Where(), True),
        (Where(framework="ours"), True),
        (Where(framework="ours", unless="fork"), False),
        (Where(device="^H"), False),
        (Where(since="2023"), True),
        (Where(since="2023-06"), False),
        (Where(before="2024"), True),
        (Where(before="2023-05"), False),
        (Where(container="23.04"), True),
        (Where(container="23.10"), False),
    ],
)
def test_a_line_holds_of_runs_that_have_all_that_it_asks_for(where, holds):
    run = Circumstances(
        framework="a fork of ours", device="A100", date="2023-05-20", container="23.05"
    )
    assert where.holds(run) is holds


def test_a_run_without_a_date_is_neither_before_nor_since():
    assert not Where(before="2023").holds(Circumstances())
    assert not Where(since="2023").holds(Circumstances())


def test_the_first_line_that_holds_counts():
    assert FLASH.at(Circumstances(date="2022")).value == "plain"
    assert FLASH.at(Circumstances(date="2023")).value == "flash"


def test_weights_of_a_line_are_shares_and_a_line_without_them_is_sure():
    plain, flash = FLASH.lines
    assert plain.weights == {"plain": 1.0}
    assert flash.weights == {"plain": 0.25, "flash": 0.75}


@pytest.mark.parametrize(
    ("run", "trainer"),
    [
        (Circumstances(framework="ours", date="2022"), OLD),
        (Circumstances(framework="ours", date="2024-06"), NEW),
        (Circumstances(framework="ours"), NEW),
        (Circumstances(framework="ours", date="2019"), OLD),
        (Circumstances(framework="ours", date="2022", container="24.05"), NEW),
        (Circumstances(framework="theirs"), ANY),
    ],
)
def test_a_run_had_the_newest_release_that_was_out(run, trainer):
    assert recognised(run, EVERY) is trainer


def test_a_publisher_tells_more_than_the_name_of_software():
    shared = Trainer(name="shared", recognised=(Where(publisher="^round"),))
    run = Circumstances(framework="ours", publisher="round-3")
    assert recognised(run, (*EVERY, shared)) is shared


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"options": (replace(FLASH, name="atention"),)}, "Did you mean 'attention'"),
        ({"options": (replace(FLASH, values=("flash", "flush")),)}, "unknown 'flush'"),
        ({"options": (replace(FLASH, values=("flash",)),)}, "cannot be set to"),
        ({"habits": (FLASH,)}, "habits.attention: unknown key"),
        ({"can": (Feature(name="axes", lines=(Statement(value="data, x", source="s"),)),)}, "'x'"),
    ],
)
def test_an_entry_that_means_nothing_is_refused_with_what_is_known(change, said):
    with pytest.raises(InputError, match=said):
        Trainer(name="ours", **change)
