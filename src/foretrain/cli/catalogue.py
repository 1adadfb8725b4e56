"""`foretrain catalogue`."""

from __future__ import annotations

from typing import Annotated

import typer

from foretrain.cli.options import AsJson

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="One entry with its sources; here; or devices, clusters, models."
    ),
]


def catalogue(name: Name = None, *, as_json: AsJson = False) -> None:
    """List the devices, clusters and models that studies may name."""
    from foretrain.cli.output import show
    from foretrain.report.catalogue import catalogue_text
    from foretrain.results.document import document
    from foretrain.verbs import catalogue as verb
    from foretrain.verbs.provenance import provenance

    answer = verb.catalogue(name)
    show(document("catalogue", answer, provenance(name)) if as_json else catalogue_text(answer))
