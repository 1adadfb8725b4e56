"""`foretrain compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.question import CommandLine, with_options

Other = Annotated[
    str,
    typer.Argument(
        metavar="OTHER",
        help='Another study, file or model; a plan for the first: "tp8"; the log or a profiler\'s '
        "trace of its run; a row of measured runs: llm_training.csv:ID.",
    ),
]

Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Also write the predicted step and, beside it, the one that a profiler saw, for "
        "Perfetto.",
    ),
]


@with_options
def compare(line: CommandLine, other: Other, *, timeline: Timeline = None) -> None:
    """Say what differs between two studies or plans, and what each difference costs."""
    import shlex

    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.sides import asked_sides, questions
    from foretrain.search.explain.classes import beside_each_other
    from foretrain.search.explain.compare import compare as verb
    from foretrain.show.document import provenance
    from foretrain.study.files import write_text

    line.check()
    line.check(timeline, "--timeline")
    known, both = line.known, asked_sides(line, other)
    answer = verb(*both, coefficients=known)
    if timeline is not None:
        write_text(timeline, beside_each_other(both[1], coefficients=known))
        tell(f"Wrote {timeline}.")
    source = provenance(*questions(both), coefficients=known)
    named = shlex.join([str(line.study), other, *line.said.words])
    line.answered(both, answer, source, most=MOST_LINES, named=named)
