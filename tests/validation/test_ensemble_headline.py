"""The headline of ensembles: the docs say what the command says, and the model knows its own."""

import pytest
from validation.ensemble_headline import MARKS, PAGE, Cells, lines_of, table

from foretrain.measured.ensemble_study import HandingCosts

TRAIN, PREPARE, HAND, STORE, DELIVER = 0.3e-3, 2.1e-3, 1.2e-3, 0.1e-3, 0.02e-3
HANDING = HandingCosts(store=STORE, deliver=DELIVER, by_session=True)


def cells_of(members):
    """What so many members take if the model is right."""
    return {
        "none 0w": members * TRAIN,
        "private 0w": members * (PREPARE + TRAIN),
        "private 1w": members * (PREPARE + HAND + TRAIN),
        "workers 1w": PREPARE + STORE + members * (DELIVER + TRAIN),
    }


def rows(cells, *, repetitions=1):
    return {f"row-{repetitions}": {"repetitions": repetitions, "cells": cells}}


def test_a_cell_comes_from_the_row_that_was_repeated_most():
    few, many = ({"none 0w, 1 members, 2 cores": {"cpu": [cpu]}} for cpu in (1.0, 2.0))
    found = Cells(rows(many, repetitions=5) | rows(few), HANDING)
    assert found.cpu("none 0w", 1) == 2.0


def test_the_docs_show_what_the_command_prints():
    shown = PAGE.read_text("utf-8").partition(MARKS[0])[2].partition(MARKS[1])[0]
    assert shown.strip().splitlines() == table()


def test_a_machine_that_the_model_describes_is_predicted_exactly():
    cells = {
        f"{kind}, {members} members, 2 cores": {"cpu": [cpu], "wall": [cpu]}
        for members in (1, 2, 8)
        for kind, cpu in cells_of(members).items()
    }
    found = [line for line in lines_of(Cells(rows(cells), HANDING)) if "8 members," in line.what]
    saved = [line for line in found if line.what.startswith("CPU time saved")]
    assert len(saved) == 2
    for line in saved:
        assert line.difference == pytest.approx(0.0, abs=1e-9)


def test_cells_that_nobody_measured_are_left_out():
    cells = {
        f"{kind}, {members} members, 2 cores": {"cpu": [cpu], "wall": [cpu]}
        for members in (1, 2)
        for kind, cpu in cells_of(members).items()
    }
    assert list(lines_of(Cells(rows(cells), HANDING))) == []
