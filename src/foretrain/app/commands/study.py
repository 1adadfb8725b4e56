"""Commands that take a study and nothing else: a line of `ANSWERS` with a `help`."""

from __future__ import annotations

from collections.abc import Callable

from foretrain.answers import Answer
from foretrain.app.output import AsJson, CoefficientsFile, Page, StudyFile
from foretrain.app.questions import On, Settings, launched


def of_study(verb: Answer) -> Callable[..., None]:
    """The command of a verb that is asked about a study."""

    def command(
        study: StudyFile,
        *,
        coefficients: CoefficientsFile = None,
        as_json: AsJson = False,
        html: Page = None,
        on: On = "",
        settings: Settings = None,
    ) -> None:
        from foretrain.app.output import answered, check_page, chosen
        from foretrain.show.provenance import of_question as source
        from foretrain.study.collective_study import read_question
        from foretrain.study.problems import told_of

        if html is not None:
            check_page(html, study)
        asked = launched(study, on=on, settings=settings) or read_question(study)
        known = chosen(coefficients).coefficients
        with told_of(study):
            answer = verb(asked, coefficients=known)
        answered(asked, answer, source(asked, coefficients=known), as_json=as_json, html=html)

    command.__doc__ = verb.help
    return command
