"""What several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study in TOML.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the JSON document and nothing else.")]
CoefficientsFile = Annotated[
    Path | None,
    typer.Option(
        "--coefficients", metavar="FILE", help="Predict with a set that `calibrate` wrote."
    ),
]
