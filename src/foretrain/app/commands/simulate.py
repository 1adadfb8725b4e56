"""`foretrain simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.output import AsJson, CoefficientsFile, Page, StudyFile, Workers

Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep", metavar="FOLDER", help="Keep each run there, and go on from those kept before."
    ),
]


def simulate(
    study: StudyFile,
    *,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    workers: Workers = 1,
    keep: Keep = None,
) -> None:
    """Let jobs share a cluster: response times under scheduling policies."""
    from foretrain.app.engine import engine
    from foretrain.app.kept import Kept
    from foretrain.app.output import answered, check_page, chosen, tell
    from foretrain.app.progress import runs_done
    from foretrain.jobs import simulate as verb
    from foretrain.show.document import provenance
    from foretrain.study.queue_study import read_queue_study

    if html is not None:
        check_page(html, study)
    asked = read_queue_study(study)
    known = chosen(coefficients).coefficients
    kept = Kept(keep) if keep else None
    with engine(workers) as spread, runs_done() as done:
        answer = verb.simulate(
            asked,
            coefficients=known,
            engine=spread,
            kept=kept,
            progress=done,
        )
    source = provenance(asked, coefficients=known)
    for path in [] if kept is None else kept.damaged:
        tell(f"warning: {path} was damaged; its run was done again.")
    answered(asked, answer, source, as_json=as_json, html=html)
