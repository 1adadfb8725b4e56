"""Sections: what a page shows under one heading.

Web pages: one file that needs nothing but itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.show.document import Provenance
from foretrain.show.table import Table
from foretrain.show.words import percent, written
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
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


def tables(name: str, title: str, *shown: Table, words: str = "") -> PageSection | None:
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
    return PageSection(name=name, title=title, template="tables", content=content)


def page(
    *, kind: str, title: str, subtitle: str, sections: Sequence[PageSection], provenance: Provenance
) -> str:
    """An HTML page that is complete in itself.

    Args:
        kind: what it answers, in the window's title.
        title: the heading.
        subtitle: what was asked.
        sections: what stands below, in order.
        provenance: what it was computed from.
    """
    return _template().render(
        kind=kind, title=title, subtitle=subtitle, sections=sections, provenance=provenance
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("foretrain.show"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "place": "{:.4g}%".format,
        "time": partial(written, SECONDS),
        "bytes": partial(written, BYTES),
    }
    return environment.get_template("page.html.j2")
