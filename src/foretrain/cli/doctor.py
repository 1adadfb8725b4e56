"""`foretrain doctor`."""

from __future__ import annotations

import typer

from foretrain.cli.options import AsJson


def doctor(*, as_json: AsJson = False) -> None:
    """Show what works on this machine and what to do about the rest."""
    from foretrain.cli.output import show, show_json
    from foretrain.report.doctor import diagnosis_text
    from foretrain.results.document import document
    from foretrain.verbs import doctor as verb
    from foretrain.verbs.provenance import provenance

    answer = verb.doctor()
    if as_json:
        show_json(document("doctor", answer, provenance()))
    else:
        show(diagnosis_text(answer))
    raise typer.Exit(0 if answer.healthy else 1)
