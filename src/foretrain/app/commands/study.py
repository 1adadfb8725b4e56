"""Commands that take a study and nothing else: a line of `ANSWERS` with a `help`."""

from __future__ import annotations

from collections.abc import Callable

from foretrain.answers import Answer
from foretrain.app.question import CommandLine, with_options


def of_study(verb: Answer) -> Callable[..., None]:
    """The command of a verb that is asked about a study."""

    def command(line: CommandLine) -> None:
        from foretrain.app.output import MOST_LINES
        from foretrain.app.question import asked_question
        from foretrain.show.document import of_question as source
        from foretrain.study.problems import told_of

        line.check()
        asked, known = asked_question(line.study, line.said), line.known
        with told_of(line.study):
            answer = verb(asked, coefficients=known)
        line.answered(asked, answer, source(asked, coefficients=known), most=MOST_LINES)

    command.__doc__ = verb.help
    return with_options(command)
