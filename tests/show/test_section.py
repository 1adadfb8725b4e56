"""Sections: those that have something to say, on a page and on a terminal."""

from foretrain.show.report import Brief, Drawing, Medium, More, Note, Paper, ReportSection, Screen
from foretrain.show.table import Column, Table

EMPTY = Table(columns=(Column(name="scenario"),), rows=())
FULL = Table(columns=(Column(name="scenario"),), rows=(("rack out",),))
PICTURE = Drawing(template="time", content={})


def section(*body):
    return ReportSection(name="scenarios", title="Scenarios", body=body)


def test_section_without_rows_is_left_out():
    assert section(EMPTY, Note("Nothing came.")).blocks(Medium.PAGE) == []


def test_tables_without_rows_are_left_out():
    assert section(EMPTY, FULL).blocks(Medium.PAGE) == [FULL]


def test_a_terminal_draws_no_pictures():
    assert section(PICTURE, FULL).blocks(Medium.SCREEN) == [FULL]
    assert section(PICTURE, FULL).blocks(Medium.PAGE) == [PICTURE, FULL]


def test_what_is_for_one_of_them_alone_is_not_on_the_other():
    body = section(Screen("few"), Paper("all"))
    assert body.blocks(Medium.SCREEN) == ["few"]
    assert body.blocks(Medium.PAGE) == ["all"]


def test_a_terminal_that_is_asked_for_more_shows_the_whole_in_place_of_a_few_lines():
    body = section(Brief("few"), More("more"), Paper("all"))
    assert body.blocks(Medium.SCREEN) == ["few"]
    assert body.blocks(Medium.MORE) == ["more", "all"]
    assert body.blocks(Medium.PAGE) == ["all"]


def test_what_only_a_page_has_room_for_is_on_a_terminal_that_is_asked_for_more():
    whole = ReportSection(name="inputs", title="Inputs", body=("all", PICTURE), page_only=True)
    assert whole.blocks(Medium.SCREEN) == []
    assert whole.blocks(Medium.MORE) == ["all"]
