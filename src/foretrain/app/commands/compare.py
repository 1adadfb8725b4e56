"""`foretrain compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from foretrain.app.question import CommandLine, with_options

Other = Annotated[
    str,
    typer.Argument(
        metavar="OTHER",
        help='Another study, file or model; or a plan for the first: "tp8", "recompute=full".',
    ),
]


@with_options
def compare(line: CommandLine, other: Other) -> None:
    """Say what differs between two studies or plans, and what each difference costs."""
    import shlex

    from foretrain.app.output import MOST_LINES
    from foretrain.app.question import asked_studies
    from foretrain.search.explain.compare import compare as verb
    from foretrain.show.provenance import provenance

    line.check()
    both, known = asked_studies(line.study, other, line.said), line.known
    answer = verb(*both, coefficients=known)
    source = provenance(*both, coefficients=known)
    named = shlex.join([str(line.study), other, *line.said.words])
    line.answered(both, answer, source, most=MOST_LINES, named=named)
