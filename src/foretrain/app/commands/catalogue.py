"""`foretrain catalogue`."""

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
