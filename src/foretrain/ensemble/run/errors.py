"""Errors of a run: our own and those of its shared stream, which a user mends alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from batchcast.errors import ArgumentError, BatchcastError, MissingPackage
from batchcast.errors import from_text as of_stream
from foretrain.errors import ForetrainError, InputError, MissingExtra

MENDABLE: Final = (ForetrainError, BatchcastError)

OURS: Final = {each.__name__: each for each in (ForetrainError, InputError)}
"""Our errors that one process finds and another raises, by the name that travels."""


def from_text(body: bytes) -> Exception:
    """The error that travelled, as `batchcast.errors.as_text` wrote it."""
    name, _, message = body.decode(errors="replace").partition("\n")
    return OURS[name](message) if name in OURS else of_stream(body)


@contextmanager
def as_ours() -> Iterator[None]:
    """What goes wrong with a stream goes wrong with the run.

    Raises:
        ForetrainError: with what the stream says.
    """
    try:
        yield
    except MissingPackage as error:
        raise MissingExtra(str(error)) from error
    except ArgumentError as error:
        raise InputError(str(error)) from error
    except BatchcastError as error:
        raise ForetrainError(str(error)) from error
