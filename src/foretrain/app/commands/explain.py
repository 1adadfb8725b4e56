"""`foretrain explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.commands.search import WhyNots
from foretrain.app.output import AsJson, CoefficientsFile, More, Page
from foretrain.app.question import Batch, Image, On, Sequence_, Settings, StudyOrModel

Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Also write the simulated step as a trace that Perfetto and browsers open.",
    ),
]


def explain(
    study: StudyOrModel,
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
    why_not: WhyNots = None,
    timeline: Timeline = None,
) -> None:
    """Say what limits a plan, what would help and by how much, and what stands behind that."""
    from foretrain.app.output import MOST_LINES, answered, check_page, chosen, tell
    from foretrain.app.question import Spoken, asked_study, named
    from foretrain.search.explain.explain import explain as verb
    from foretrain.search.explain.explained import simulated
    from foretrain.show.document import of_study
    from foretrain.step.trace import chrome_step
    from foretrain.study.files import write_text
    from foretrain.study.problems import told_of

    if html is not None:
        check_page(html, study)
    if timeline is not None:
        check_page(timeline, study, option="--timeline")
    said = Spoken(on=on, batch=batch, sequence=sequence, image=image, settings=settings or ())
    asked, known = asked_study(study, said), chosen(coefficients).coefficients
    with told_of(study):
        answer = verb(asked, coefficients=known, why_not=why_not or ())
    if timeline is not None:
        write_text(timeline, chrome_step(simulated(answer)))
        tell(f"Wrote {timeline}.")
    source = of_study(asked, coefficients=known)
    answered(
        asked,
        answer,
        source,
        as_json=as_json,
        html=html,
        more=more,
        most=None if why_not else MOST_LINES,
        named=named(study, said),
    )
