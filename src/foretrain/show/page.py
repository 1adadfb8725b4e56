"""Web pages: one file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.show.document import Provenance
from foretrain.show.report import (
    AnswerReport,
    Block,
    Bullets,
    Drawing,
    Note,
    Pieces,
    Strong,
)
from foretrain.show.table import Table, table
from foretrain.show.words import percent, written
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Template


def page(report: AnswerReport, provenance: Provenance) -> str:
    """An HTML page that is complete in itself: styles and drawings are in it.

    Args:
        report: what it says.
        provenance: what that was computed from.
    """
    drawn = ((each, _drawn(each.blocks(page=True))) for each in report.sections if each.name)
    sections = [(section, blocks) for section, blocks in drawn if blocks]
    return _template().render(
        report=report,
        sections=sections,
        provenance=provenance,
        coefficients=table(provenance.sources, "name", "amount", "interval", "kind", "source"),
    )


def _drawn(blocks: Sequence[Block]) -> list[tuple[str, object]]:
    """The template of each block and what it draws."""
    return [
        (each.template, each.content)
        if isinstance(each, Drawing)
        else (TEMPLATES[type(each)], each)
        for each in blocks
        if each != ""
    ]


TEMPLATES = {
    str: "words",
    Note: "note",
    Strong: "strong",
    Bullets: "bullets",
    tuple: "facts",
    Pieces: "pieces",
    Table: "table",
}
"""What draws each kind of block."""


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
        "amount": lambda value, quantity: written(quantity, value),
    }
    return environment.get_template("page.html.j2")
