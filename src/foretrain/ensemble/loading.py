"""Loading: which way of getting samples an ensemble takes, and why."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.ensemble.forecast import Way, estimated
from foretrain.ensemble.one_node import LoadingEstimate, OnOneNode, fed_stream, private_loaders
from foretrain.ensemble.sharing import advise_sharing
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Input

ASKED = "The study says so."
FED = "The data is a loader, which gives every batch once: a stream can hand it to all."


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A way of loading.

    Attributes:
        way: what is taken.
        input: the same as the study says it.
        why: in a sentence.
        estimates: of all that were compared, the quickest first.
        private: the best without sharing.
        taken: what is expected of `way`.
    """

    way: Way
    input: Input
    why: str
    estimates: tuple[LoadingEstimate, ...]
    private: LoadingEstimate
    taken: LoadingEstimate


def loading(setting: OnOneNode, asked: Input, *, workers: int | None, fed: bool = False) -> Choice:
    """The way that is asked for, or the better one: quicker, or as quick for less of the cores.

    Args:
        setting: members, cores and what was measured.
        asked: what the study says.
        workers: processes that prepare, of the stream or of each member; None for the best
            number.
        fed: whether a loader gives the samples.

    Raises:
        InputError: a loader is to be private.
    """
    if fed:
        return _fed(setting, asked)
    advice = advise_sharing(setting, workers=workers)
    shared = asked is Input.SHARED or (asked is Input.AUTO and advice.pays)
    taken = advice.shared if shared else advice.private
    if workers is not None:
        taken = estimated(setting, Way(shared=shared, workers=workers))
    found = (each for each in advice.estimates if each.name != fed_stream(setting).name)
    return Choice(
        way=Way(shared=shared, workers=taken.workers),
        input=Input.SHARED if shared else Input.PRIVATE,
        why=advice.verdict if asked is Input.AUTO else f"{ASKED} {advice.verdict}",
        estimates=tuple(sorted(found, key=lambda each: (-each.rate, each.cpu))),
        private=advice.private,
        taken=taken,
    )


def _fed(setting: OnOneNode, asked: Input) -> Choice:
    if asked is Input.PRIVATE:
        raise InputError(
            "ensemble.input: 'private' needs a data set with a length and an index, and the data"
            " is a loader. Write 'shared', or return the loader's data set."
        )
    private, taken = private_loaders(setting, workers=0), fed_stream(setting)
    return Choice(
        way=Way(shared=True, workers=1, fed=True),
        input=Input.SHARED,
        why=FED,
        estimates=tuple(sorted((private, taken), key=lambda each: -each.rate)),
        private=private,
        taken=taken,
    )
