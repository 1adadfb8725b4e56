"""Networks of measured runs that read neither text nor images: the library's, by name."""

from __future__ import annotations

from functools import lru_cache

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.images import network
from foretrain.measured.run import MeasuredRun
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build, known
from foretrain.workload.library.entry import Reads


def listed_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The network of a row on speech, recommendation, ...

    Raises:
        NotCovered: the library has no network of that name, the row does not state the length of a
            sample, or its numbers are in doubt.
    """
    if run.doubt:
        raise NotCovered(f"numbers in doubt: {run.doubt}")
    name = run.network.name
    entry = known(name)
    if entry is None:
        raise NotCovered(f"network '{name}' is not in the library")
    if entry.reads is Reads.NOTHING:
        return network(entry.name)
    tokens = run.network.sequence
    if tokens is None and entry.name in defaults.SEQUENCES:
        tokens = assumptions.take(defaults.SEQUENCES[entry.name])
    return _built(entry.name, stated(tokens, "length of a sample"))


@lru_cache(maxsize=256)
def _built(name: str, sequence: int) -> Model:
    return build(name, sequence=sequence)
