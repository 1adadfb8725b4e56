"""`foretrain explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.commands.search import WhyNots
from foretrain.app.question import CommandLine, with_options

Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Also write the simulated step as a trace that Perfetto and browsers open.",
    ),
]


@with_options
def explain(line: CommandLine, *, why_not: WhyNots = None, timeline: Timeline = None) -> None:
    """Say what limits a plan, what would help and by how much, and what stands behind that."""
    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.question import asked_study
    from foretrain.search.explain.explain import explain as verb
    from foretrain.search.explain.explained import simulated
    from foretrain.show.document import of_study
    from foretrain.step.trace import chrome_step
    from foretrain.study.files import write_text
    from foretrain.study.problems import told_of

    line.check()
    line.check(timeline, "--timeline")
    asked, known = asked_study(line.study, line.said), line.known
    with told_of(line.study):
        answer = verb(asked, coefficients=known, why_not=why_not or ())
    if timeline is not None:
        write_text(timeline, chrome_step(simulated(answer)))
        tell(f"Wrote {timeline}.")
    source = of_study(asked, coefficients=known)
    line.answered(asked, answer, source, most=None if why_not else MOST_LINES)
