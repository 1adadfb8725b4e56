"""Web pages: one file that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.report.section import Section
from foretrain.report.words import percent, written
from foretrain.results.provenance import Provenance
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Template


def page(
    *, kind: str, title: str, subtitle: str, sections: Sequence[Section], provenance: Provenance
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
        loader=PackageLoader("foretrain.report"),
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
