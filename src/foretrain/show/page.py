"""Web pages: one file that needs nothing but itself."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.show.document import Provenance
from foretrain.show.report import (
    AnswerReport,
    Bullets,
    Drawing,
    Medium,
    Note,
    Pieces,
    Strong,
    Verbatim,
)
from foretrain.show.table import Table, table
from foretrain.show.words import percent, written
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def page(report: AnswerReport, provenance: Provenance) -> str:
    """An HTML page that is complete in itself: styles and drawings are in it.

    Args:
        report: what it says.
        provenance: what that was computed from.
    """
    sections = []
    for section in report.sections:
        drawn = [
            (it.template, it.content) if isinstance(it, Drawing) else (TEMPLATES[type(it)], it)
            for it in section.blocks(Medium.PAGE)
            if it != ""
        ]
        if section.name and drawn:
            sections.append((section, drawn))
    return _template().render(
        report=report,
        sections=sections,
        provenance=provenance,
        coefficients=table(provenance.sources, "name", "amount", "interval", "kind", "source"),
    )


def fragment(line: str, content: Table) -> str:
    """A line and a table, for a page that somebody else draws."""
    return _environment().get_template("fragment.html.j2").render(line=line, content=content)


TEMPLATES = {
    str: "words",
    Note: "note",
    Strong: "strong",
    Bullets: "bullets",
    Verbatim: "verbatim",
    tuple: "facts",
    Pieces: "pieces",
    Table: "table",
}
"""What draws each kind of block."""


def _template() -> Template:
    return _environment().get_template("page.html.j2")


@cache
def _environment() -> Environment:
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
        "amount": lambda value, quantity: written(quantity, value),
    }
    return environment
