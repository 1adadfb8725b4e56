"""`foretrain doctor`."""

from __future__ import annotations

import typer

from foretrain.app.output import AsJson


def doctor(*, as_json: AsJson = False) -> None:
    """Show what works on this machine and what to do about the rest."""
    from foretrain.app import doctor as verb
    from foretrain.app.output import show, told
    from foretrain.show.document import provenance

    answer = verb.doctor()
    show(told(None, answer, provenance(), as_json=as_json))
    raise typer.Exit(0 if answer.healthy else 1)
