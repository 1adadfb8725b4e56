"""`foretrain search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.cli.options import AsJson, CoefficientsFile, StudyFile

if TYPE_CHECKING:
    from foretrain.cli.futures import Futures
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.plan.study import Study
    from foretrain.results.provenance import Provenance
    from foretrain.results.search import SearchResult
    from foretrain.results.why_not import WhyNot

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
Robust = Annotated[
    bool,
    typer.Option(
        "--robust",
        help="Say how far from the best each plan may be while a coefficient is not known exactly.",
    ),
]
Exhaustive = Annotated[
    bool,
    typer.Option(
        "--exhaustive", help="Price every plan, also those that a bound excludes; same answer."
    ),
]


def search(
    study: StudyFile,
    *,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    keep: Keep = 10,
    why_not: WhyNots = None,
    robust: Robust = False,
    exhaustive: Exhaustive = False,
) -> None:
    """Find the best plan, its rivals, and why the others are refused."""
    from foretrain.cli.largest import answer_largest
    from foretrain.cli.mixed import answer_mixed
    from foretrain.cli.output import check_page
    from foretrain.cli.sets import chosen
    from foretrain.files.study import read_study

    if html is not None:
        check_page(html, study)
    asked, doubts = read_study(study), why_not or []
    known = chosen(coefficients).coefficients
    asked_too = {"--robust": robust, "--exhaustive": exhaustive, "--why-not": bool(doubts)}
    if asked.maximise is not None:
        _refuse(asked_too, "search.maximise asks about all sizes")
        answer_largest(study, asked, coefficients=known, as_json=as_json, html=html, keep=keep)
    elif asked.mixed is not None:
        _refuse({**asked_too, "--html": html is not None}, "cluster.groups names two kinds")
        answer_mixed(study, asked, coefficients=known, as_json=as_json, keep=keep)
    else:
        _answer_best(
            study,
            asked,
            coefficients=known,
            as_json=as_json,
            html=html,
            keep=keep,
            doubts=doubts,
            robust=robust,
            exhaustive=exhaustive,
        )


def _refuse(options: Mapping[str, bool], why: str) -> None:
    """Refuse options that have no meaning for a study."""
    from foretrain.errors import InputError

    given = [name for name, present in options.items() if present]
    if given:
        names = ", ".join(given)
        raise InputError(
            f"{names}: only for one size on one kind of devices, but {why}. Leave one out."
        )


def _answer_best(
    study: Path,
    asked: Study,
    *,
    coefficients: Coefficients,
    as_json: bool,
    html: Path | None,
    keep: int,
    doubts: Sequence[str],
    robust: bool,
    exhaustive: bool,
) -> None:
    """Find the best plans, and say why some others are not."""
    from foretrain.cli.futures import futures
    from foretrain.cli.progress import progress, stop_on_interrupt
    from foretrain.files.plan_text import read_named
    from foretrain.files.problems import told_of
    from foretrain.verbs import search as verb
    from foretrain.verbs import why_not as verb_why_not
    from foretrain.verbs.provenance import of_study

    for text in doubts:
        read_named(text, where="--why-not")
    with stop_on_interrupt() as stop:
        with told_of(study), progress(stop) as bar:
            answer = verb.search(
                asked,
                coefficients=coefficients,
                keep=keep,
                exhaustive=exhaustive,
                progress=bar,
                stop=stop,
            )
            others = futures(
                asked,
                answer,
                coefficients=coefficients,
                keep=keep,
                robust=robust,
                progress=bar,
                stop=stop,
            )
        doubted = [
            verb_why_not.why_not(asked, text, answer=answer, coefficients=coefficients)
            for text in doubts
        ]
        source = of_study(asked, coefficients=coefficients)
        _tell(asked, answer, others, source=source, doubted=doubted, html=html, as_json=as_json)


def _tell(
    asked: Study,
    answer: SearchResult,
    others: Futures,
    *,
    source: Provenance,
    doubted: Sequence[WhyNot],
    html: Path | None,
    as_json: bool,
) -> None:
    """Write the answers to the page and the terminal."""
    from rich.console import Group

    from foretrain.cli.output import show_and_write
    from foretrain.report.page import search_page
    from foretrain.report.search import search_text
    from foretrain.report.why_not import why_not_section, why_not_text
    from foretrain.results.document import document, plain

    if answer.unseen:
        typer.echo("The search was cut short: this is the best of what was looked at.", err=True)
    sections = (
        why_not_section(asked, each, number=number) for number, each in enumerate(doubted, start=1)
    )
    shown: Group | Mapping[str, object]
    if as_json:
        told = {"why_not": plain(doubted)} if doubted else {}
        shown = {**document("search", answer, source), **others.document, **told}
    else:
        doubts_told = (why_not_text(asked, each) for each in doubted)
        shown = Group(search_text(asked, answer), *others.texts, *doubts_told)
    show_and_write(
        shown,
        html,
        lambda: search_page(asked, answer, source, more=[*others.sections, *sections]),
    )
