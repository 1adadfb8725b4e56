"""Commands about one study, `foretrain init`, and what is known and works here.

Commands that take a study and nothing else: a line of `ANSWERS` with a `help`.

`foretrain init`.

`foretrain schema`.

What is here: `foretrain catalogue`, `foretrain doctor`, `foretrain mcp`.

`foretrain catalogue`.

`foretrain doctor`.

`foretrain mcp`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from foretrain.answers import Answer
from foretrain.app.output import AsJson
from foretrain.app.question import CommandLine, Spoken, with_options


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


Model = Annotated[str | None, typer.Option("--model", help="Of the library, or a config.json.")]
Where = Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write it.")]


@with_options
def init(said: Spoken, *, file: Where = Path("study.toml"), model: Model = None) -> None:
    """Write a first study, to go on from."""
    from foretrain.app.output import check_page, tell
    from foretrain.errors import InputError
    from foretrain.study.files import write_text
    from foretrain.study.settings import with_settings
    from foretrain.study.spoken import BATCH, DEVICES, MODEL, SEQUENCE, spoken, written_study
    from foretrain.study.study import study_from

    if file.exists():
        raise InputError(f"{file} is there already. Name another file.")
    check_page(file, Path(), option="init")
    told = spoken(
        model or MODEL,
        on=said.on or DEVICES,
        batch=said.batch or BATCH,
        sequence=said.sequence or (SEQUENCE if _reads_tokens(model or MODEL, said) else None),
        image=said.image,
    )
    document = with_settings(told, said.set_keys)
    study_from(document, str(file), folder=file.parent)
    write_text(file, written_study(document))
    tell(f"Wrote {file}.")
    tell(f"Next       foretrain search {file}")


def _reads_tokens(model: str, said: Spoken) -> bool:
    """Whether samples are tokens, as far as the line and the library tell."""
    from foretrain.workload.library.entries import SampleKind, known

    entry = known(model)
    return said.image is None and (entry is None or entry.reads is SampleKind.TOKENS)


Verb = Annotated[str, typer.Argument(metavar="VERB", help="study, or a verb that prints JSON.")]


def schema(verb: Verb) -> None:
    """Print the JSON Schema of a study or of a verb's document."""
    from foretrain.app.output import show
    from foretrain.app.schema import schema_of

    show(schema_of(verb))


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="One entry with its sources; here; or devices, clusters, trainers, models.",
    ),
]


def catalogue(name: Name = None, *, as_json: AsJson = False) -> None:
    """List the devices, clusters, trainers and models that studies may name."""
    from foretrain.app import catalogue as verb
    from foretrain.app.output import show, told
    from foretrain.show.document import provenance

    answer = verb.catalogue(name)
    show(told(name, answer, provenance(name), as_json=as_json))


def doctor(*, as_json: AsJson = False) -> None:
    """Show what works on this machine and what to do about the rest."""
    from foretrain.app import doctor as verb
    from foretrain.app.output import show, told
    from foretrain.show.document import provenance

    answer = verb.doctor()
    show(told(None, answer, provenance(), as_json=as_json))
    raise typer.Exit(0 if answer.healthy else 1)


def mcp() -> None:
    """Serve the verbs to an agent over stdin and stdout (Model Context Protocol)."""
    import sys

    from foretrain.app.agents import serve

    serve(sys.stdin, sys.stdout)
