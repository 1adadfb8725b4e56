"""`foretrain ensemble estimate` and `foretrain ensemble run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from foretrain.app.output import AsJson, StudyFile

if TYPE_CHECKING:
    from foretrain.ensemble.result import Snapshot

    Tells = Callable[[str, int, int], None]
    Watches = Callable[[Snapshot], None]


class _Drawn(NamedTuple):
    """Who is told of what is measured before a run, and of every look at one."""

    probes: Tells | None
    members: Watches | None


ensemble = typer.Typer(
    no_args_is_help=True, help="Train many models over one shared input pipeline."
)

Page = Annotated[
    Path | None, typer.Option("--html", metavar="PAGE", help="Also write the report as a web page.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in the checkpoints.")]


@ensemble.command()
def estimate(study: StudyFile, *, as_json: AsJson = False, html: Page = None) -> None:
    """Whether to share the input, and what a run will take; trains nothing."""
    from foretrain.app.output import check_page, show_and_write
    from foretrain.ensemble.estimate import (
        ensemble_estimate,
        ensemble_estimate_page,
        ensemble_estimate_text,
    )
    from foretrain.show.document import document
    from foretrain.show.provenance import provenance
    from foretrain.study.ensemble_study import read_ensemble_study

    if html is not None:
        check_page(html, study)
    asked = read_ensemble_study(study)
    with _drawn() as drawn:
        answer = ensemble_estimate(asked, progress=drawn.probes)
    source = provenance(asked)
    shown = document("ensemble-estimate", answer, source)
    show_and_write(
        shown if as_json else ensemble_estimate_text(answer),
        html,
        lambda: ensemble_estimate_page(answer, source),
    )


@ensemble.command()
def run(study: StudyFile, *, resume: Resume = False, as_json: AsJson = False) -> None:
    """Train every member; Ctrl-C keeps their state, if the study has checkpoints, and ends."""
    from foretrain.app.output import show
    from foretrain.app.progress import stop_on_interrupt
    from foretrain.ensemble.report_run import ensemble_run_text
    from foretrain.ensemble.train import ensemble_run
    from foretrain.show.document import document
    from foretrain.show.provenance import provenance
    from foretrain.study.ensemble_study import read_ensemble_study

    asked = read_ensemble_study(study)
    with stop_on_interrupt() as stop, _drawn() as drawn:
        answer = ensemble_run(
            asked, resume=resume, progress=drawn.probes, watch=drawn.members, stop=stop
        )
    shown = document("ensemble-run", answer, provenance(asked))
    show(shown if as_json else ensemble_run_text(answer))


def _drawn() -> AbstractContextManager[_Drawn]:
    """What goes on, on stderr if that is a terminal; nothing elsewhere."""
    return _on_terminal() if sys.stderr.isatty() else nullcontext(_Drawn(None, None))


@contextmanager
def _on_terminal() -> Iterator[_Drawn]:
    """Drawn only when there is news: a thread that draws would be there while members fork."""
    from rich.console import Console
    from rich.live import Live

    from foretrain.app.output import Legible
    from foretrain.ensemble.report_run import live_text, probes_text

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as shown:
        yield _Drawn(
            lambda what, done, total: shown.update(
                Legible(probes_text(what, done, total)), refresh=True
            ),
            lambda now: shown.update(Legible(live_text(now)), refresh=True),
        )
