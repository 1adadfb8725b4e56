"""`foretrain estimate`."""

from __future__ import annotations

from foretrain.cli.options import AsJson, StudyFile


def estimate(study: StudyFile, *, as_json: AsJson = False) -> None:
    """Predict time, memory, money and energy of one plan."""
    from foretrain.cli.output import show
    from foretrain.files.problems import told_of
    from foretrain.files.study import read_study
    from foretrain.report.estimate import estimate_text
    from foretrain.results.document import document
    from foretrain.verbs import estimate as verb
    from foretrain.verbs.provenance import of_study

    asked = read_study(study)
    with told_of(study):
        answer = verb.estimate(asked)
    show(document("estimate", answer, of_study(asked)) if as_json else estimate_text(asked, answer))
