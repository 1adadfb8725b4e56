"""`foretrain init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.question import Spoken, with_options

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
        sequence=said.sequence or (None if said.image else SEQUENCE),
        image=said.image,
    )
    document = with_settings(told, said.set_keys)
    study_from(document, str(file))
    write_text(file, written_study(document))
    tell(f"Wrote {file}.")
    tell(f"Next       foretrain search {file}")
