"""Apart: a function of its own process, so that what it touches leaves nothing behind in ours."""

from __future__ import annotations

import json
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from foretrain.errors import ForetrainError, InputError
from foretrain.run.forkserver.client import Process, start

Starts = Callable[[Callable[..., None], Sequence[int]], Process]
"""Starts a process that calls a function with these descriptors, or with more before them."""


def apart(function: Callable[..., Any], *, what: str, starts: Starts = start) -> Any:
    """What a function returns, as JSON knows it, from a process of its own.

    Args:
        function: of a module, or `partial` of one; called with what `starts` gives it.
        what: it finds out, for errors.
        starts: the process: a clean one, which gives the function nothing, unless told otherwise.

    Raises:
        InputError: the function raised, or its process died.
    """
    read, write = os.pipe()
    with os.fdopen(read, "rb") as pipe:
        try:
            process = starts(partial(_tell, pickle.dumps(function)), [write])
        finally:
            os.close(write)
        answer = pipe.read()
    process.wait()
    process.close()
    if not answer:
        raise InputError(f"{what}: {_ended(process.status)}.")
    told = json.loads(answer)
    if "raised" in told:
        raise InputError(f"{what}: {told['raised']}")
    if "error" in told:
        raise InputError(told["error"])
    return told["answer"]


def _ended(status: int | None) -> str:
    if status == -signal.SIGKILL:
        return "the process that measures it was killed, perhaps because memory was short"
    return f"the process that measures it ended with status {status}"


def _tell(function: bytes, *given: Any) -> None:
    *arguments, (pipe,) = given
    os.dup2(2, 1)
    try:
        told = {"answer": pickle.loads(function)(*arguments)}
    except ForetrainError as error:
        told = {"error": str(error)}
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        told = {"raised": f"{type(error).__name__}: {error}\n{where}"}
    with os.fdopen(pipe, "wb") as file:
        file.write(json.dumps(told).encode())
