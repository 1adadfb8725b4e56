"""An ensemble opened: its code imported, its data at hand, its costs known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from foretrain.ensemble.run.home import Home
from foretrain.ensemble.run.logs import check_logs
from foretrain.ensemble.run.machine import limited
from foretrain.ensemble.run.probe import probe
from foretrain.errors import require
from foretrain.measured.ensemble_study import EnsembleStudy, Probed

WHAT = "an ensemble whose members are trained or measured"

Told = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A study that is loaded.

    Attributes:
        home: the process that has loaded it.
        cores: that everything shares.
    """

    home: Home
    cores: int

    @property
    def fed(self) -> bool:
        """Whether a loader gives the samples, batch by batch."""
        return self.home.facts.is_fed


@contextmanager
def opened(study: EnsembleStudy) -> Iterator[Opened]:
    """A study whose members can be started.

    Raises:
        InputError: the study's code does not give what it must.
        MissingExtra: PyTorch is not installed.
    """
    require("torch", what=WHAT)
    check_logs(study.logs)
    with limited(study.cores) as cores, closing(Home(study)) as home:
        yield Opened(home=home, cores=cores)


def known(study: EnsembleStudy, found: Opened, tell: Told | None) -> Probed:
    """What the study says of samples and members, or this machine measures.

    Raises:
        InputError: a member cannot be built.
    """
    return study.given or probe(study, found.home, tell or (lambda _what, _done, _all: None))
