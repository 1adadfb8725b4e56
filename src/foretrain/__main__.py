"""`python -m foretrain` is the command line."""

from foretrain.app.main import start

start()
