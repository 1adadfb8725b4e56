"""The page of a validation: complete in itself, and every part of it true."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree.ElementTree import fromstring

import pytest
from tests import builders
from tests.show.test_page import outline

from foretrain.evidence.report import BY, COLOURS, REST, errors_by, scatter, validation_report
from foretrain.evidence.report import WORST_OF_A_PAGE as WORST
from foretrain.evidence.validate import Validation
from foretrain.show.report import Drawing
from foretrain.show.terminal import page as page_of
from foretrain.step.result import Parts
from foretrain.units import SECONDS

ROW = replace(
    builders.validation().rows[0],
    framework="torch",
    device="A100 SXM 80GB",
    devices=8,
    strategy="data + tensor",
    parts=Parts(forward=3.0, backward=6.0, tensor=1.0),
)


def rows(*ratios, **changes):
    """Rows measured at 10 s."""
    return [
        replace(ROW, id=f"row-{place}", predicted=10 * ratio, error=ratio - 1, **changes)
        for place, ratio in enumerate(ratios)
    ]


def page(*shown):
    every = shown or (ROW,)
    validation = Validation(rows=every, summary=builders.validation().summary)
    return page_of(validation_report(every, validation), builders.provenance())


def test_page_points_at_nothing_but_itself_and_closes_what_it_opens():
    found = outline(page(*rows(0.5, 1.0, 2.0)))
    assert all(link.startswith("#") for link in found.links)
    assert not found.open
    assert len(found.names) == len(set(found.names))
    assert not {"link", "img", "iframe", "object"} & set(found.tags)


def test_page_of_no_scored_row_says_why():
    text = page(builders.validation().rows[-1])
    assert "Not scored" in text
    assert "Measured against predicted" not in text


def test_rows_that_err_most_come_first_with_their_parts():
    text = page(*rows(1.1, 3.0, 0.9))
    order = re.findall(r'class="label">(row-\d)', text)
    assert order[0] == "row-1"
    assert "tensor: 1 s" in text
    assert "torch, 8 A100 SXM 80GB, data + tensor" in text


def drawn(row):
    """What the page draws of a row that errs."""
    validation = Validation(rows=(row,), summary=builders.validation().summary)
    drawings = [
        item
        for section in validation_report([row], validation).sections
        for item in section.body
        if isinstance(item, Drawing) and item.template == "worst"
    ]
    (shown,) = drawings[0].content["rows"]
    return shown


@pytest.mark.parametrize("ratio", [0.5, 1.25, 4.0])
def test_a_bar_is_as_long_as_the_longer_of_what_was_measured_and_predicted(ratio):
    """Parts that add up to the prediction fill its share of the bar; a mark stands at 10 s."""
    parts = Parts(forward=3 * ratio, backward=6 * ratio, tensor=ratio)
    (row,) = rows(ratio, parts=parts)
    shown = drawn(row)
    longest = max(10.0, 10 * ratio)
    assert shown.mark == pytest.approx(100 * 10 / longest)
    assert sum(piece.share for piece in shown.pieces) == pytest.approx(10 * ratio / longest)


@pytest.mark.parametrize(
    ("ratio", "predicted", "error"),
    [(1.25, "12.5 s", "25 %"), (1.0, "10 s", "0.0 %"), (0.0, "0 s", "-100 %")],
)
def test_a_row_that_errs_is_told_in_seconds_and_per_cent(ratio, predicted, error):
    (row,) = rows(ratio)
    shown = drawn(row)
    assert (shown.measured, shown.predicted, shown.error) == ("10 s", predicted, error)


def test_no_more_than_the_worst_rows_are_broken_down():
    text = page(*rows(*[1 + place / 100 for place in range(2 * WORST)]))
    assert text.count('class="label">row-') == WORST


@pytest.mark.parametrize("name", BY)
def test_errors_are_told_by_what_rows_have_in_common(name):
    assert f"Errors by {name}" in page()
    [line] = errors_by(name, rows(0.8, 1.4)).rows
    assert line[1:6] == ("2", "30 %", "30 %", "38 %", "10 %")


def test_what_a_row_does_not_state_is_a_group_of_its_own():
    assert errors_by("framework", rows(1.0, framework="")).rows[0][0] == "not stated"


def test_a_perfect_prediction_stands_on_the_diagonal():
    found = scatter(rows(1.0, 100.0, 0.01), SECONDS)
    dot = found.dots[0]
    assert dot.x == pytest.approx(100 - dot.y)
    assert "measured 10 s, predicted 10 s" in dot.text
    assert all(0 <= at <= 100 for it in found.dots for at in (it.x, it.y))


def test_ticks_leave_one_another_room():
    places = [at for at, _ in scatter(rows(1.0, 1e4, 1e-4), SECONDS).axis.ticks]
    assert min(b - a for a, b in pairwise(places)) > 5


def test_sources_beyond_the_colours_share_one():
    many = [replace(ROW, id=f"r-{k}", source_id=f"s-{k}") for k in range(len(COLOURS) + 3)]
    found = scatter(many, SECONDS)
    assert found.legend[-1] == (REST, "other sources")
    assert len(found.legend) == len(COLOURS) + 1


def test_the_drawing_is_well_formed():
    for drawing in re.findall(r"<svg.*?</svg>", page(*rows(0.5, 1.0, 20.0)), re.DOTALL):
        fromstring(drawing)
