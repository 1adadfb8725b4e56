"""`foretrain schema`."""

from __future__ import annotations

from typing import Annotated

import typer

Verb = Annotated[str, typer.Argument(metavar="VERB", help="study, or a verb that prints JSON.")]


def schema(verb: Verb) -> None:
    """Print the JSON Schema of a study or of a verb's document."""
    from foretrain.app.output import show
    from foretrain.app.schema import schema_of

    show(schema_of(verb))
