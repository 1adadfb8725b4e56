"""An ensemble opened: its code imported, its data at hand, its costs known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from foretrain.errors import ForetrainError, InputError
from foretrain.extras import require
from foretrain.measured.ensemble_study import EnsembleStudy
from foretrain.measured.probed import Probed
from foretrain.run.members.code import check_code, function
from foretrain.run.members.logs import check_logs
from foretrain.run.members.machine import limited
from foretrain.run.members.probe import probe
from foretrain.run.members.warm import warm
from foretrain.run.stream.source import Source, source_of

WHAT = "an ensemble whose members are trained or measured"

Told = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a study's code made.

    Attributes:
        raw: what its data function returned.
        source: the same, as a stream understands it.
        cores: that everything shares.
    """

    raw: Any
    source: Source
    cores: int

    @property
    def fed(self) -> bool:
        """Whether a loader gives the samples, batch by batch."""
        return self.source.samples_of is None


@contextmanager
def opened(study: EnsembleStudy) -> Iterator[Opened]:
    """A process from which the members of a study can be forked.

    Raises:
        InputError: the study's code does not give what it must.
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what=WHAT)
    check_logs(study.logs)
    with limited(study.cores) as cores, warm():
        check_code(study)
        raw = _data(study)
        shared = function(study.shared, study.folder) if study.shared else None
        source = source_of(raw, shared=shared, seed=study.seed, longest=None)
        if source.samples_of is None and study.workers is not None:
            raise InputError("ensemble.workers: the data is a loader, which brings its own.")
        yield Opened(raw=raw, source=source, cores=cores)


def _data(study: EnsembleStudy) -> Any:
    """What the study's data function returns."""
    try:
        return function(study.data, study.folder)()
    except ForetrainError:
        raise
    except Exception as error:
        raise InputError(
            f"ensemble.data: {study.data} raised {type(error).__name__}: {error}. It is called "
            "without arguments and returns a data set or a loader."
        ) from error


def known(study: EnsembleStudy, found: Opened, tell: Told | None) -> Probed:
    """What the study says of samples and members, or this machine measures.

    Raises:
        InputError: a member cannot be built.
    """
    return study.given or probe(study, found.source, tell or (lambda _what, _done, _all: None))
