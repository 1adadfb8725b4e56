"""`foretrain scale`."""

from __future__ import annotations

from foretrain.app.output import AsJson, CoefficientsFile, Page, StudyFile


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
