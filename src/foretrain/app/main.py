"""The program: the command line, which Ctrl-C ends quietly where no answer is under way.

The command line: one command per verb, and the one place where errors become messages.

Exit codes: 0 done, 1 an error the user can mend, 2 wrong usage, 3 no plan fits.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated, NoReturn

import typer

from foretrain.answers import ANSWERS
from foretrain.app.commands.clusters import ensemble, scale, simulate
from foretrain.app.commands.common import catalogue, doctor, init, mcp, of_study, schema
from foretrain.app.commands.evidence import calibrate, validate
from foretrain.app.commands.plans import compare, explain, export, import_, search
from foretrain.app.output import tell
from foretrain.errors import ForetrainError, NoPlanFits


def start() -> NoReturn:
    """Run the command line; exit code 130 if it is interrupted before it has anything to answer."""
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # The answer is out: an interrupt while Python closes must not make a failure of it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in ANSWERS:
    if verb.help:
        app.command(verb.name)(of_study(verb))
for command in (
    init,
    search,
    explain,
    compare,
    scale,
    simulate,
    calibrate,
    validate,
    catalogue,
    schema,
    doctor,
    mcp,
):
    app.command()(command)
app.command()(export)
app.command("import")(import_)
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
        from foretrain.show.document import installed

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
