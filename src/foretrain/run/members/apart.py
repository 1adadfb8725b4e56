"""Apart: a function of its own process, so that what it touches leaves nothing behind in ours."""

from __future__ import annotations

import json
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from foretrain.errors import ForetrainError, InputError


def apart(function: Callable[[], Any], *, what: str) -> Any:
    """What a function returns, as JSON knows it, from a process forked for it.

    A process that has computed with torch must not be forked any more: its threads are not there
    in the child.

    Args:
        function: is called without arguments.
        what: it finds out, for errors.

    Raises:
        InputError: the function raised, or its process died.
    """
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(function, theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    try:
        told = json.loads(ours.recv_bytes())
    except EOFError:
        process.join()
        raise InputError(f"{what}: {_ended(process.exitcode)}.") from None
    finally:
        ours.close()
    process.join()
    if "raised" in told:
        raise InputError(f"{what}: {told['raised']}")
    if "error" in told:
        raise InputError(told["error"])
    return told["answer"]


def _ended(status: int | None) -> str:
    if status == -signal.SIGKILL:
        return "the process that measures it was killed, perhaps because memory was short"
    return f"the process that measures it ended with status {status}"


def _tell(function: Callable[[], Any], pipe: Connection) -> None:
    os.dup2(2, 1)
    try:
        told = {"answer": function()}
    except ForetrainError as error:
        told = {"error": str(error)}
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        told = {"raised": f"{type(error).__name__}: {error}\n{where}"}
    pipe.send_bytes(json.dumps(told).encode())
    pipe.close()
