"""`foretrain search` of a study that makes something as large as fits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.plan.study import Study


def answer_largest(
    path: Path,
    asked: Study,
    *,
    coefficients: Coefficients,
    as_json: bool,
    html: Path | None,
    keep: int,
) -> None:
    """Find the largest size that fits, and show its best plans."""
    from foretrain.cli.output import show_and_write
    from foretrain.cli.progress import progress, stop_on_interrupt
    from foretrain.files.length import lengthened
    from foretrain.files.problems import told_of
    from foretrain.report.largest import largest_section, largest_text
    from foretrain.report.page import search_page
    from foretrain.results.document import document
    from foretrain.verbs import largest as verb
    from foretrain.verbs.provenance import of_study

    lengths = lengthened(path)
    with stop_on_interrupt() as stop:
        with told_of(path), progress(stop) as bar:
            answer = verb.largest(
                asked,
                lengthened=lengths,
                coefficients=coefficients,
                keep=keep,
                progress=bar,
                stop=stop,
            )
        there = verb.sized(asked, answer.size, lengthened=lengths)
        source = of_study(asked, coefficients=coefficients)
        if answer.search.unseen:
            typer.echo("The search was cut short: its best plan may not be the best.", err=True)
        show_and_write(
            document("largest", answer, source) if as_json else largest_text(there, answer),
            html,
            lambda: search_page(
                there, answer.search, source, more=[largest_section(there, answer)]
            ),
        )
