"""What is here: `foretrain catalogue`, `foretrain doctor`, `foretrain mcp`.

`foretrain catalogue`.

`foretrain doctor`.

`foretrain mcp`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from foretrain.app.output import AsJson

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
