"""`foretrain simulate`, `foretrain scale`, `foretrain ensemble`.

`foretrain simulate`.

`foretrain scale`.

`foretrain ensemble estimate` and `foretrain ensemble run`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from foretrain.app.output import AsJson, CoefficientsFile, Page, StudyFile, Workers

if TYPE_CHECKING:
    from foretrain.ensemble.result import Snapshot

    Tells = Callable[[str, int, int], None]
    Watches = Callable[[Snapshot], None]

Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep", metavar="FOLDER", help="Keep each run there, and go on from those kept before."
    ),
]


Why = Annotated[
    list[str] | None,
    typer.Option(
        "--why",
        metavar="JOB",
        help="Say why a job waits, period by period, and what would let it start sooner.",
    ),
]


def simulate(
    study: StudyFile,
    *,
    why: Why = None,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    workers: Workers = 1,
    keep: Keep = None,
) -> None:
    """Let jobs share a cluster: response times under scheduling policies."""
    from foretrain.app.output import answered, check_page, chosen, tell
    from foretrain.app.progress import Kept, engine, runs_done
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
            why=why or (),
        )
    source = provenance(asked, coefficients=known)
    for path in [] if kept is None else kept.damaged:
        tell(f"warning: {path} was damaged; its run was done again.")
    answered(asked, answer, source, as_json=as_json, html=html)


def scale(
    study: StudyFile,
    *,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
) -> None:
    """Throughput against workers: where the knee is, what makes it, and what would move it."""
    from foretrain.app.output import answered, check_page, chosen
    from foretrain.app.progress import runs_done
    from foretrain.queueing import scale as verb
    from foretrain.show.document import provenance
    from foretrain.study.problems import told_of
    from foretrain.study.scale_study import read_scale_study

    if html is not None:
        check_page(html, study)
    asked, known = read_scale_study(study), chosen(coefficients).coefficients
    with told_of(study), runs_done() as done:
        answer = verb.scale(asked, coefficients=known, progress=done)
    answered(asked, answer, provenance(asked, coefficients=known), as_json=as_json, html=html)


class _Drawn(NamedTuple):
    """Who is told of what is measured before a run, and of every look at one."""

    probes: Tells | None
    members: Watches | None


ensemble = typer.Typer(
    no_args_is_help=True, help="Train many models over one shared input pipeline."
)

Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in the checkpoints.")]


@ensemble.command()
def estimate(study: StudyFile, *, as_json: AsJson = False, html: Page = None) -> None:
    """Whether to share the input, and what a run will take; trains nothing."""
    from foretrain.app.output import answered, check_page
    from foretrain.ensemble.estimate import ensemble_estimate
    from foretrain.show.document import provenance
    from foretrain.study.ensemble_study import read_ensemble_study

    if html is not None:
        check_page(html, study)
    asked = read_ensemble_study(study)
    with _drawn() as drawn:
        answer = ensemble_estimate(asked, progress=drawn.probes)
    source = provenance(asked)
    answered(asked, answer, source, as_json=as_json, html=html)


@ensemble.command()
def run(
    study: StudyFile, *, resume: Resume = False, as_json: AsJson = False, html: Page = None
) -> None:
    """Train every member; Ctrl-C keeps their state, if the study has checkpoints, and ends."""
    from foretrain.app.output import answered, check_page
    from foretrain.app.progress import stop_on_interrupt
    from foretrain.ensemble.train import ensemble_run
    from foretrain.show.document import provenance
    from foretrain.study.ensemble_study import read_ensemble_study

    if html is not None:
        check_page(html, study)
    asked = read_ensemble_study(study)
    with stop_on_interrupt() as stop, _drawn() as drawn:
        answer = ensemble_run(
            asked, resume=resume, progress=drawn.probes, watch=drawn.members, stop=stop
        )
    answered(asked, answer, provenance(asked), as_json=as_json, html=html)


@contextmanager
def _drawn() -> Iterator[_Drawn]:
    """What goes on, on stderr if that is a terminal; nothing elsewhere.

    Drawn only when there is news: a thread that draws would be there while members fork.
    """
    if not sys.stderr.isatty():
        yield _Drawn(None, None)
        return
    from rich.console import Console
    from rich.live import Live

    from foretrain.app.output import Legible
    from foretrain.ensemble.train import live
    from foretrain.show.report import Note
    from foretrain.show.terminal import blocks

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as shown:
        yield _Drawn(
            lambda what, done, total: shown.update(
                Legible(blocks([Note(f"{what}: {done} of {total}")])), refresh=True
            ),
            lambda now: shown.update(Legible(blocks(live(now))), refresh=True),
        )
