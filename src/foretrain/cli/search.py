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
WhyNots = Annotated[
    list[str] | None,
    typer.Option(
        "--why-not",
        metavar="PLAN",
        help='Say why a plan is not the best: "tp8", "tensor=8 recompute=full" or a ranked plan.',
    ),
]


def search(
    study: StudyFile,
    *,
    as_json: AsJson = False,
    html: Page = None,
    keep: Keep = 10,
    why_not: WhyNots = None,
) -> None:
    """Find the best plan, its rivals, and why the others are refused."""
    from rich.console import Group

    from foretrain.cli.output import keep_apart, save, show
    from foretrain.cli.progress import progress, stop_on_interrupt
    from foretrain.files.plan_text import read_named
    from foretrain.files.problems import told_of
    from foretrain.files.study import read_study
    from foretrain.report.page import search_page
    from foretrain.report.search import search_text
    from foretrain.report.why_not import why_not_section, why_not_text
    from foretrain.results.document import document, plain
    from foretrain.verbs import search as verb
    from foretrain.verbs import why_not as verb_why_not
    from foretrain.verbs.provenance import of_study

    if html is not None:
        keep_apart(html, study)
    asked, doubts = read_study(study), why_not or []
    for text in doubts:
        read_named(text, where="--why-not")
    with told_of(study), stop_on_interrupt() as stop, progress() as bar:
        answer = verb.search(asked, keep=keep, progress=bar, stop=stop)
    doubted = [verb_why_not.why_not(asked, text, answer=answer) for text in doubts]
    if not answer.proven_optimal:
        typer.echo("The search was cut short: this is the best of what was looked at.", err=True)
    if html is not None:
        more = [
            why_not_section(asked, each, number=number)
            for number, each in enumerate(doubted, start=1)
        ]
        save(search_page(asked, answer, of_study(asked), more=more), html)
        typer.echo(f"Wrote {html}.", err=True)
    if as_json:
        told = {"why_not": plain(doubted)} if doubted else {}
        show({**document("search", answer, of_study(asked)), **told})
    else:
        show(Group(search_text(asked, answer), *(why_not_text(asked, each) for each in doubted)))
