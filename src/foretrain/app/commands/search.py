"""`foretrain search`."""

from __future__ import annotations

from typing import Annotated

import typer

from foretrain.app.question import CommandLine, with_options

Keep = Annotated[int, typer.Option("--keep", min=1, help="How many of the best plans to show.")]
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


@with_options
def search(
    line: CommandLine,
    *,
    keep: Keep = 10,
    why_not: WhyNots = None,
    robust: Robust = False,
    exhaustive: Exhaustive = False,
) -> None:
    """Find the best plan, its rivals, and why the others are refused."""
    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.progress import progress, stop_on_interrupt
    from foretrain.app.question import asked_study
    from foretrain.search import search as verb
    from foretrain.show.document import of_study
    from foretrain.study.problems import told_of

    line.check()
    asked, known = asked_study(line.study, line.said, free=True), line.known
    with stop_on_interrupt() as stop:
        with told_of(line.study), progress(stop) as bar:
            answer = verb.search(
                asked,
                coefficients=known,
                keep=keep,
                why_not=why_not or (),
                robust=robust,
                exhaustive=exhaustive,
                progress=bar,
                stop=stop,
            )
        source = of_study(asked, coefficients=known)
        besides = robust or bool(why_not) or bool(asked.scenarios)
        if answer.cut_short:
            tell("The search was cut short: this is the best of what was looked at.")
        line.answered(asked, answer, source, most=None if besides else MOST_LINES)
