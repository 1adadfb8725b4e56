"""`foretrain estimate`."""

from __future__ import annotations

from foretrain.cli.options import AsJson, CoefficientsFile, StudyFile


def estimate(
    study: StudyFile, *, coefficients: CoefficientsFile = None, as_json: AsJson = False
) -> None:
    """Predict time, memory, money and energy of one plan."""
    from foretrain.cli.output import show
    from foretrain.cli.sets import chosen
    from foretrain.files.problems import told_of
    from foretrain.files.study import read_study
    from foretrain.report.estimate import estimate_text
    from foretrain.results.document import document
    from foretrain.verbs import estimate as verb
    from foretrain.verbs.provenance import of_study

    asked, known = read_study(study), chosen(coefficients).coefficients
    with told_of(study):
        answer = verb.estimate(asked, coefficients=known)
    source = of_study(asked, coefficients=known)
    shown = document("estimate", answer, source)
    show(shown if as_json else estimate_text(asked, answer))
