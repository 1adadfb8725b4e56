"""`foretrain estimate`."""

from __future__ import annotations

from foretrain.app.output import AsJson, CoefficientsFile, StudyFile


def estimate(
    study: StudyFile, *, coefficients: CoefficientsFile = None, as_json: AsJson = False
) -> None:
    """Predict time, memory, money and energy of one plan."""
    from foretrain.app.output import chosen, show
    from foretrain.show.document import document
    from foretrain.show.provenance import of_study
    from foretrain.step import estimate as verb
    from foretrain.step.report import estimate_text
    from foretrain.study.problems import told_of
    from foretrain.study.study import read_study

    asked, known = read_study(study), chosen(coefficients).coefficients
    with told_of(study):
        answer = verb.estimate(asked, coefficients=known)
    source = of_study(asked, coefficients=known)
    shown = document("estimate", answer, source)
    show(shown if as_json else estimate_text(asked, answer))
