"""Sections of tables: those that have something to say."""

from foretrain.show.page import tables
from foretrain.show.table import Column, Table

EMPTY = Table(columns=(Column(name="scenario"),), rows=())
FULL = Table(columns=(Column(name="scenario"),), rows=(("rack out",),))


def test_section_without_rows_is_left_out():
    assert tables("scenarios", "Scenarios", EMPTY, words="Nothing came.") is None


def test_tables_without_rows_are_left_out():
    assert tables("scenarios", "Scenarios", EMPTY, FULL).content["tables"] == [FULL]
