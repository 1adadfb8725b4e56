"""`foretrain compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile, More, Page, StudyFile

if TYPE_CHECKING:
    from foretrain.plan.study import Study

Other = Annotated[
    str,
    typer.Argument(
        metavar="OTHER",
        help='Another study; or a plan for the first one, such as "tp8" or "recompute=full".',
    ),
]


def compare(
    study: StudyFile,
    other: Other,
    *,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    more: More = False,
) -> None:
    """Say what differs between two studies or plans, and what each difference costs."""
    from foretrain.app.output import MOST_LINES, answered, check_page, chosen
    from foretrain.search.explain.compare import compare as verb
    from foretrain.show.provenance import provenance
    from foretrain.study.study import read_study

    if html is not None:
        check_page(html, study)
    first, known = read_study(study), chosen(coefficients).coefficients
    second = _second(first, other)
    answer = verb(first, second, coefficients=known)
    source = provenance(first, second, coefficients=known)
    named = f"{study} {other!r}" if " " in other else f"{study} {other}"
    both = (first, second)
    answered(
        both, answer, source, as_json=as_json, html=html, more=more, most=MOST_LINES, named=named
    )


def _second(first: Study, other: str) -> Study:
    """The other study: in a file, or the first one with some of its plan named anew."""
    from foretrain.study.reading import exists
    from foretrain.study.spoken import with_plan
    from foretrain.study.study import read_study

    if exists(Path(other)) or other.endswith(".toml"):
        return read_study(Path(other))
    return with_plan(first, other, where="compare")
