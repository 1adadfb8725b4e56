"""`foretrain search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.cli.options import AsJson, StudyFile

Keep = Annotated[int, typer.Option("--keep", min=1, help="How many of the best plans to show.")]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report as a web page.")
]


def search(
    study: StudyFile, *, as_json: AsJson = False, html: Page = None, keep: Keep = 10
) -> None:
    """Find the best plan, its rivals, and why the others are refused."""
    from foretrain.cli.output import keep_apart, save, show
    from foretrain.cli.progress import progress, stop_on_interrupt
    from foretrain.files.problems import told_of
    from foretrain.files.study import read_study
    from foretrain.report.page import search_page
    from foretrain.report.search import search_text
    from foretrain.results.document import document
    from foretrain.verbs import search as verb
    from foretrain.verbs.provenance import of_study

    if html is not None:
        keep_apart(html, study)
    asked = read_study(study)
    with told_of(study), stop_on_interrupt() as stop, progress() as bar:
        answer = verb.search(asked, keep=keep, progress=bar, stop=stop)
    if not answer.proven_optimal:
        typer.echo("The search was cut short: this is the best of what was looked at.", err=True)
    if html is not None:
        save(search_page(asked, answer, of_study(asked)), html)
        typer.echo(f"Wrote {html}.", err=True)
    show(document("search", answer, of_study(asked)) if as_json else search_text(asked, answer))
