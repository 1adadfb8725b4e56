"""`foretrain explain`."""

from __future__ import annotations

from foretrain.app.commands.search import WhyNots
from foretrain.app.output import AsJson, CoefficientsFile, More, Page, StudyFile


def explain(
    study: StudyFile,
    *,
    coefficients: CoefficientsFile = None,
    as_json: AsJson = False,
    html: Page = None,
    more: More = False,
    why_not: WhyNots = None,
) -> None:
    """Say what limits a plan, what would help and by how much, and what stands behind that."""
    from foretrain.app.output import answered, check_page, chosen
    from foretrain.search.explain.explain import explain as verb
    from foretrain.show.provenance import of_study
    from foretrain.study.problems import told_of
    from foretrain.study.study import read_study

    if html is not None:
        check_page(html, study)
    asked, known = read_study(study), chosen(coefficients).coefficients
    with told_of(study):
        answer = verb(asked, coefficients=known, why_not=why_not or ())
    source = of_study(asked, coefficients=known)
    answered(asked, answer, source, as_json=as_json, html=html, more=more, named=str(study))
