"""The program: the command line, which Ctrl-C ends quietly where no answer is under way."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def start() -> NoReturn:
    """Run the command line; exit code 130 if it is interrupted before it has anything to answer."""
    try:
        from foretrain.cli.main import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # The answer is out: an interrupt while Python closes must not make a failure of it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
