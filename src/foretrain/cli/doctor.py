"""`foretrain doctor`."""

from __future__ import annotations

import typer

from foretrain.cli.options import AsJson


def doctor(*, as_json: AsJson = False) -> None:
    """Show what works on this machine and what to do about the rest."""
    from foretrain.cli.output import show
    from foretrain.report.doctor import diagnosis_text
    from foretrain.results.document import document
    from foretrain.verbs import doctor as verb
    from foretrain.verbs.provenance import provenance

    answer = verb.doctor()
    show(document("doctor", answer, provenance()) if as_json else diagnosis_text(answer))
    raise typer.Exit(0 if answer.healthy else 1)
