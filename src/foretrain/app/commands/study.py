"""Commands that take a study and nothing else: a line of `ANSWERS` with a `help`."""

from __future__ import annotations

from collections.abc import Callable

from foretrain.answers import Answer
from foretrain.app.output import AsJson, CoefficientsFile, More, Page
from foretrain.app.question import Batch, Image, On, Sequence_, Settings, StudyOrModel


def of_study(verb: Answer) -> Callable[..., None]:
    """The command of a verb that is asked about a study."""

    def command(
        study: StudyOrModel,
        *,
        on: On = None,
        batch: Batch = None,
        sequence: Sequence_ = None,
        image: Image = None,
        settings: Settings = None,
        coefficients: CoefficientsFile = None,
        as_json: AsJson = False,
        html: Page = None,
        more: More = False,
    ) -> None:
        from foretrain.app.output import MOST_LINES, answered, check_page, chosen
        from foretrain.app.question import Spoken, asked_question, named
        from foretrain.show.document import of_question as source
        from foretrain.study.problems import told_of

        if html is not None:
            check_page(html, study)
        said = Spoken(on=on, batch=batch, sequence=sequence, image=image, settings=settings or ())
        asked, known = asked_question(study, said), chosen(coefficients).coefficients
        with told_of(study):
            answer = verb(asked, coefficients=known)
        answered(
            asked,
            answer,
            source(asked, coefficients=known),
            as_json=as_json,
            html=html,
            more=more,
            most=MOST_LINES,
            named=named(study, said),
        )

    command.__doc__ = verb.help
    return command
