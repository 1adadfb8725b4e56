"""Sections: those that have something to say, on a page and on a terminal."""

from foretrain.show.report import Drawing, Note, Paper, ReportSection, Screen
from foretrain.show.table import Column, Table

EMPTY = Table(columns=(Column(name="scenario"),), rows=())
FULL = Table(columns=(Column(name="scenario"),), rows=(("rack out",),))
PICTURE = Drawing(template="time", content={})


def section(*body):
    return ReportSection(name="scenarios", title="Scenarios", body=body)


def test_section_without_rows_is_left_out():
    assert section(EMPTY, Note("Nothing came.")).blocks(page=True) == []


def test_tables_without_rows_are_left_out():
    assert section(EMPTY, FULL).blocks(page=True) == [FULL]


def test_a_terminal_draws_no_pictures():
    assert section(PICTURE, FULL).blocks(page=False) == [FULL]
    assert section(PICTURE, FULL).blocks(page=True) == [PICTURE, FULL]


def test_what_is_for_one_of_them_alone_is_not_on_the_other():
    body = section(Screen("few"), Paper("all"))
    assert body.blocks(page=False) == ["few"]
    assert body.blocks(page=True) == ["all"]
