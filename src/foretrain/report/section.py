"""Sections: what a page shows under one heading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretrain.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading of a page and what stands under it.

    Attributes:
        name: its anchor, unique on the page.
        title: the heading.
        template: draws it, `templates/sections/TEMPLATE.html.j2`.
        content: what the template calls `it`.
    """

    name: str
    title: str
    template: str
    content: Mapping[str, object]


def tables(name: str, title: str, *shown: Table, words: str = "") -> Section | None:
    """A section of nothing but words and tables; None where no table has a row.

    Args:
        name: its anchor, unique on the page.
        title: the heading.
        shown: one below the other; those without rows are left out.
        words: what stands above them.
    """
    full = [table for table in shown if table.rows]
    if not full:
        return None
    content = {"tables": full, "words": words}
    return Section(name=name, title=title, template="tables", content=content)
