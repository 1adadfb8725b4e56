"""The map of a space: every cell says what is known of its plans."""

from dataclasses import replace

import pytest
from tests import builders

from foretrain.plan.study import Objective
from foretrain.search.report.pictures import CellState, further, space_map


def drawn(**changes):
    return space_map(builders.search_result(**changes))


def square(tensor, pipeline, **changes):
    """One square of a map, its cell changed."""
    result = builders.search_result()
    cells = [cell for cell in result.cells if (cell.tensor, cell.pipeline) != (tensor, pipeline)]
    changed = replace(builders.cell(tensor, pipeline), **changes)
    squares = space_map(replace(result, cells=(*cells, changed))).squares
    return next(each for each in squares if each.cell == changed)


def test_every_cell_has_its_own_place():
    found = drawn()
    places = {(each.row, each.column) for each in found.squares}
    assert len(places) == len(found.squares) == len(found.tensors) * len(found.pipelines)
    for each in found.squares:
        assert found.tensors[each.row] == each.cell.tensor
        assert found.pipelines[each.column] == each.cell.pipeline


def test_order_of_cells_does_not_matter():
    cells = builders.search_result().cells
    assert drawn(cells=cells[::-1]) == drawn(cells=cells)


def test_degrees_that_no_plan_has_leave_holes():
    cells = builders.search_result().cells
    assert len(drawn(cells=cells[1:]).squares) == len(cells) - 1


def test_best_plans_cell_is_marked_and_shows_its_value():
    (best,) = [each for each in drawn().squares if each.best]
    assert (best.cell.tensor, best.cell.pipeline) == (8, 4)
    assert (best.text, best.shade, best.state) == ("10.9 s", 0, CellState.KNOWN)
    assert best.words.startswith("tensor 8, pipeline 4: 10.9 s, the least of all; best of 1,320 ")


def test_other_cells_show_how_much_worse_they_are():
    each = square(8, 8)
    assert (each.text, each.shade) == ("+25 %", 3)
    assert "25 % slower than the best; best of 1,640 plans: tp8" in each.words


def test_cells_that_were_only_bounded_show_their_bound():
    each = square(8, 16, bound=20.0)
    assert (each.text, each.state) == ("\u2265 +84 %", CellState.BOUNDED)
    told = "none of 2,280 plans was priced; what was not priced takes at least 20 s, 84 % slower"
    assert told in each.words


def test_bound_below_the_best_says_that_nothing_is_known():
    assert square(8, 16, bound=5.0).text == "?"
    assert "may take anything" in square(8, 16, bound=0.0).words


def test_cells_with_a_better_bound_show_the_best_that_was_priced():
    each = square(8, 8, bound=12.0)
    assert (each.text, each.shade, each.state) == ("\u2264 +25 %", 3, CellState.FOUND)
    assert "best of those of 1,640 plans that were priced: tp8" in each.words
    assert each.words.endswith("takes at least 12 s, 10 % slower than the best")


def test_bound_that_is_no_better_leaves_the_best_of_a_cell_known():
    value = builders.cell(8, 8).best
    assert square(8, 8, bound=value).text == square(8, 8).text == "+25 %"


def test_cells_where_nothing_fits_say_why():
    each = square(1, 1)
    assert (each.text, each.state) == ("", CellState.REFUSED)
    assert "none of 1,010 plans can run: needs more memory than a device has, or" in each.words
    assert square(1, 1, plans=0).words == "tensor 1, pipeline 1: no legal plan"


@pytest.mark.parametrize(
    ("objective", "more"),
    [
        (Objective.TIME, "25 % slower"),
        (Objective.COST, "25 % dearer"),
        (Objective.ENERGY, "25 % more energy"),
        (Objective.MEMORY, "25 % more memory"),
    ],
)
def test_objective_says_what_is_more(objective, more):
    (each,) = [
        it for it in drawn(objective=objective).squares if it.text == "+25 %" and it.row == 3
    ]
    assert f"{more} than the best" in each.words


def test_nothing_priced_is_no_map():
    assert drawn(cells=()) is None


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0001, "<0.1 %"), (1.031, "+3.1 %"), (1.12, "+12 %"), (2.0, "2.0 x"), (1234.0, "1,234 x")],
)
def test_large_distances_are_told_in_times(ratio, text):
    assert further(ratio) == text
