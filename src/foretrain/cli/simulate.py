"""`foretrain simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.cli.options import AsJson, CoefficientsFile, StudyFile

Page = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report as a web page.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes that share the runs.")]

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
    from foretrain.cli.legible import tell
    from foretrain.cli.output import check_page, show_and_write
    from foretrain.cli.runs import runs_done
    from foretrain.cli.sets import chosen
    from foretrain.files.kept import Kept
    from foretrain.files.queue_study import read_queue_study
    from foretrain.report.simulate import simulate_text
    from foretrain.report.simulate_page import simulate_page
    from foretrain.results.document import document
    from foretrain.verbs import simulate as verb
    from foretrain.verbs.engine import engine
    from foretrain.verbs.provenance import provenance

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
    shown = document("simulate", answer, source)
    show_and_write(
        shown if as_json else simulate_text(answer),
        html,
        lambda: simulate_page(asked, answer, source),
    )
