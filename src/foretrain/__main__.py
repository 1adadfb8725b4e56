"""`python -m foretrain` is the command line."""

from foretrain.cli.main import run

run()
