"""The command line: one command per verb, and the one place where errors become messages.

Exit codes: 0 done, 1 an error the user can mend, 2 wrong usage, 3 no plan fits.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from foretrain.cli.calibrate import calibrate
from foretrain.cli.catalogue import catalogue
from foretrain.cli.doctor import doctor
from foretrain.cli.ensemble import ensemble
from foretrain.cli.estimate import estimate
from foretrain.cli.legible import tell
from foretrain.cli.schema import schema
from foretrain.cli.search import search
from foretrain.cli.simulate import simulate
from foretrain.cli.validate import validate
from foretrain.errors import ForetrainError, NoPlanFits

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (estimate, search, simulate, calibrate, validate, catalogue, schema, doctor):
    app.command()(command)
app.add_typer(ensemble, name="ensemble")


def run() -> NoReturn:
    """Run the command line; every error that a user can mend ends here, without a traceback."""
    try:
        app()
    except ForetrainError as error:
        tell(f"error: {error}")
        sys.exit(3 if isinstance(error, NoPlanFits) else 1)
    sys.exit(0)


def _print_version(wanted: bool) -> None:
    if wanted:
        from foretrain.verbs.provenance import installed

        typer.echo(installed())
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Know before you train: time, memory, money and energy of distributed training."""
