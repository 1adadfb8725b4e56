"""`foretrain compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile, More, Page
from foretrain.app.question import Batch, Image, On, Sequence_, Settings, StudyOrModel

Other = Annotated[
    str,
    typer.Argument(
        metavar="OTHER",
        help='Another study, file or model; or a plan for the first: "tp8", "recompute=full".',
    ),
]


def compare(
    study: StudyOrModel,
    other: Other,
    *,
    on: On = None,
    batch: Batch = None,
    sequence: Sequence_ = None,
    image: Image = None,
    settings: Settings = None,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    more: More = False,
) -> None:
    """Say what differs between two studies or plans, and what each difference costs."""
    import shlex

    from foretrain.app.output import MOST_LINES, answered, check_page, chosen
    from foretrain.app.question import Spoken, asked_studies
    from foretrain.search.explain.compare import compare as verb
    from foretrain.show.document import provenance

    if html is not None:
        check_page(html, study)
    said = Spoken(on=on, batch=batch, sequence=sequence, image=image, settings=settings or ())
    both, known = asked_studies(study, other, said), chosen(coefficients).coefficients
    answer = verb(*both, coefficients=known)
    source = provenance(*both, coefficients=known)
    named = shlex.join([str(study), other, *said.words])
    answered(
        both, answer, source, as_json=as_json, html=html, more=more, most=MOST_LINES, named=named
    )
