"""What `foretrain search` answers where a study has two kinds of devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretrain.coefficients.coefficients import Coefficients
    from foretrain.plan.study import Study


def answer_mixed(
    study: Path, asked: Study, *, coefficients: Coefficients, as_json: bool, keep: int
) -> None:
    """Find the best plan on both kinds, and on each of them alone."""
    from foretrain.cli.output import show
    from foretrain.cli.progress import progress, stop_on_interrupt
    from foretrain.files.problems import told_of
    from foretrain.report.mixed import mixed_text
    from foretrain.results.document import document
    from foretrain.verbs import mixed as verb
    from foretrain.verbs.provenance import of_study

    with stop_on_interrupt() as stop:
        with told_of(study), progress(stop) as bar:
            answer = verb.mixed(
                asked, coefficients=coefficients, keep=keep, progress=bar, stop=stop
            )
        source = of_study(asked, coefficients=coefficients)
        show(document("mixed", answer, source) if as_json else mixed_text(asked, answer))
