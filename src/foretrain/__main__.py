"""`python -m foretrain` is the command line."""

from foretrain.cli.start import start

start()
