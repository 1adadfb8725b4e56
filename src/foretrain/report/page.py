"""Web pages: one file that needs nothing but itself; here that of a search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from foretrain.plan.study import Study
from foretrain.report import facts
from foretrain.report.page_sections import SECTIONS, inputs
from foretrain.report.rent import home
from foretrain.report.section import Section
from foretrain.report.words import percent, written
from foretrain.results.provenance import Provenance
from foretrain.results.search import SearchResult
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from jinja2 import Template


def search_page(
    study: Study,
    result: SearchResult,
    provenance: Provenance,
    *,
    more: Sequence[Section | None] = (),
) -> str:
    """The HTML page of a search, complete: styles and drawings are in it, nothing is loaded.

    Args:
        study: the question.
        result: the answer.
        provenance: what the answer was computed from.
        more: sections about what was asked besides; None is left out.
    """
    told = [section(study, result) for section in SECTIONS]
    asked = inputs(study, result, provenance)
    return page(
        kind="Best plan",
        title=_title(home(study, result.best)),
        subtitle=_subtitle(study),
        sections=[section for section in (*told, *more, asked) if section is not None],
        provenance=provenance,
    )


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


def _title(study: Study) -> str:
    cluster = study.cluster
    return f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}"


def _subtitle(study: Study) -> str:
    asked = facts.question(study)
    texts = [f"{fact.text} ({fact.more})" if fact.more else fact.text for fact in asked]
    return f"{'; '.join(texts)}."


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
