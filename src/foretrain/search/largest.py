"""What `search` answers when something is to be as large as fits.

largest: how large may a micro-batch, a sample or the model be, so that some plan fits?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import itemgetter
from types import MappingProxyType

from foretrain.cluster.offer import Offer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.legality import limit_problems, precision_problems, within
from foretrain.plan.plan import AS_MADE, Plan
from foretrain.plan.study import Limit, Maximise, Study, sized
from foretrain.search.best_plans import best_plans
from foretrain.search.exhaustive import leanest
from foretrain.search.ladders import (
    LONGEST,
    Ladder,
    climb,
    ladders_of,
)
from foretrain.search.result import Progress, SearchResult
from foretrain.show.table import label, labelled
from foretrain.show.words import percent
from foretrain.step.memory import room
from foretrain.step.software import study_setting
from foretrain.study.coefficients import DEFAULT
from foretrain.units import BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a size needs at least.

    Attributes:
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
        memory: bytes per device of the plan that needs least.
        room: bytes per device that a plan may fill.
        plan: that plan.
        cluster: name of the cluster on which it runs.
        nodes: how many of its nodes.
    """

    size: int
    memory: float = field(
        metadata=label("memory", BYTES, meaning="least of any plan, on the heaviest device")
    )
    room: float
    plan: Plan = field(metadata=label("plan", spare=1))
    cluster: str
    nodes: int

    @property
    def fits(self) -> bool:
        """Whether some plan of that size runs."""
        return self.memory <= self.room

    @property
    @labelled("of the room", number=True, spare=2)
    def filled(self) -> str:
        """What it fills of the room, of which too much never reads as a whole."""
        share = percent(self.memory / self.room)
        return share if self.fits or share != "100 %" else f">{share}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The largest size at which some plan fits in memory.

    Attributes:
        maximise: what is as large as fits.
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
        parameters: of the model at that size.
        tokens: that a step learns from at that size; None for samples without tokens.
        next: the next size that could be asked for, which does not fit; None where the sizes end.
        growth: what smaller sizes and this one need at least, ascending.
        search: the best plans of that size.
    """

    maximise: Maximise
    size: int
    parameters: float
    tokens: float | None
    next: Need | None
    growth: tuple[Need, ...]
    search: SearchResult

    @property
    def cut_short(self) -> bool:
        """Whether somebody wanted the answer before all plans were looked at."""
        return self.search.cut_short


GROWTH = 6
"""Sizes at which an answer tells what the leanest plan needs, each about twice the one before."""


def largest(
    study: Study,
    *,
    coefficients: Coefficients = DEFAULT,
    keep: int = 10,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Largest:
    """The largest size of what the study maximises at which some plan fits, and its best plans.

    Memory alone decides what fits; the objective ranks the plans of the largest size.

    Args:
        study: the question; its `maximise` says what grows. Where that is the sequence it must
            know its other lengths, as one does that was read from a file.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to answer with.
        progress: told how far the search at the largest size has come.
        stop: asked now and then; true ends that search with what was found.

    Raises:
        InputError: the question has no answer, or no plan is legal at any size.
        NoPlanFits: no plan fits at any size, or the search was stopped too early.
    """
    if study.maximise is Maximise.PARAMETERS and study.space.cut == AS_MADE:
        # Depths that even stages share: those are what a ladder can climb.
        study = replace(study, space=replace(study.space, cut=("even",)))
    asked = _asked(study, coefficients=coefficients, stop=stop)
    size, where = _top(asked)
    there = asked.study_of(size)
    model, batch = there.workload.model, there.workload.global_batch
    return Largest(
        maximise=asked.maximise,
        size=size,
        parameters=model.parameters,
        tokens=float(model.tokens * batch) if model.tokens > 1 else None,
        next=_next(asked, size),
        # What sizes up to the largest need where it fits, each about twice the one before.
        growth=tuple(
            need
            for need in (_need(asked, each, at) for each, at in _below(asked, size, where))
            if need is not None
        ),
        search=best_plans(
            there, coefficients=coefficients, keep=keep, progress=progress, stop=stop
        ),
    )


def _fixed_length(study: Study) -> Iterator[str]:
    """Why samples can have no other length."""
    if study.lengthened is None:
        yield (
            "search.maximise: a longer sequence makes another model. Give the study `lengthened`, "
            "the workload for so many tokens; one that read_study read has it."
        )
        return
    model = study.workload.model
    longest = min(LONGEST, model.longest or LONGEST)
    try:
        study.lengthened(longest)
    except InputError as error:
        yield (
            f"search.maximise: the samples of {model.name} cannot have any length. "
            f"With {longest:,} tokens: {error}"
        )


_WORDS: Mapping[Maximise, str] = MappingProxyType(
    {
        Maximise.MICRO_BATCH: "micro-batch",
        Maximise.SEQUENCE: "sequence",
        Maximise.PARAMETERS: "number of layers",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is asked.

    Attributes:
        maximise: what grows.
        ladders: sizes to try on each offer that keeps the limits.
        study_of: the question at one size.
        limit: what no plan may exceed.
        coefficients: how well hardware and software do.
        stop: whether the answer is wanted at once.
    """

    maximise: Maximise
    ladders: Sequence[Where]
    study_of: Callable[[int], Study]
    limit: Limit
    coefficients: Coefficients
    stop: Callable[[], bool]


Where = tuple[Offer, Ladder]
"""What is rented, and the sizes to try there."""


def _asked(study: Study, *, coefficients: Coefficients, stop: Callable[[], bool] | None) -> _Asked:
    """What is asked, if it has an answer."""
    wrong = [
        *(
            text
            for offer in study.choices
            for text in precision_problems(study.workload, offer.cluster)
        ),
        *limit_problems(study.choices, study.limit),
    ]
    wrong += [
        f"search.limit.{name}: search.maximise asks what fits in memory, whatever it takes. "
        "Leave one of them out."
        for name in ("cost", "deadline")
        if getattr(study.limit, name) is not None
    ]
    if study.maximise is None:
        wrong.append("search.maximise: is missing: micro_batch, sequence or parameters.")
    if study.mixed is not None:
        wrong.append("search.maximise: asks about one kind of devices; the study has two.")
    if study.maximise is Maximise.SEQUENCE:
        wrong += _fixed_length(study)
    if wrong or study.maximise is None:
        raise InputError("\n".join(dict.fromkeys(wrong)))
    return _Asked(
        maximise=study.maximise,
        ladders=[
            (offer, ladder)
            for offer in within(study.choices, study.limit)
            for ladder in ladders_of(study, offer.devices)
        ],
        study_of=cache(partial(sized, study)),
        limit=study.limit,
        coefficients=coefficients,
        stop=stop or (lambda: False),
    )


def _need(asked: _Asked, where: Where, size: int) -> Need | None:
    """What a size needs at least on a ladder of an offer; None without a legal plan."""
    if asked.stop():
        raise NoPlanFits("the search was stopped before it knew the largest size that fits.")
    offer, ladder = where
    priced = study_setting(asked.study_of(size), offer.cluster, asked.coefficients)
    found = leanest(priced, ladder.space, devices=offer.devices)
    if found is None:
        return None
    return Need(
        size=size,
        memory=found.memory,
        room=room(priced, asked.limit),
        plan=found.plan,
        cluster=offer.cluster.name,
        nodes=found.plan.devices // offer.cluster.node_devices,
    )


def _top(asked: _Asked) -> tuple[int, Where]:
    """The largest size that fits, and where."""
    top, there = 0, None
    for where in asked.ladders:

        def fits(size: int, where: Where = where) -> bool:
            need = _need(asked, where, size)
            return need is not None and need.fits

        size = climb(where[1].above(top), fits)
        if size is not None:
            top, there = size, where
    if there is not None:
        return top, there
    least, called = _next(asked, 0), _WORDS[asked.maximise]
    if least is None:
        raise InputError(
            f"the space has no legal plan for any {called}. Free a key of [plan], or change "
            "workload.global_batch or cluster.nodes."
        )
    raise NoPlanFits(
        f"no plan fits: the smallest {called}, {least.size:,}, needs at least "
        f"{BYTES.write(least.memory)} per device ({least.plan}); {BYTES.write(least.room)} may be "
        "filled. Use more nodes or a device with more memory."
    )


def _next(asked: _Asked, size: int) -> Need | None:
    """What the next size above one needs at least; None where sizes end."""
    needs = [
        _need(asked, where, above[0]) for where in asked.ladders if (above := where[1].above(size))
    ]
    legal = [need for need in needs if need is not None]
    return min(legal, key=lambda need: (need.size, need.memory - need.room), default=None)


def _below(asked: _Asked, size: int, where: Where) -> list[tuple[Where, int]]:
    """Sizes up to the largest and their ladders: its own; of micro-batches, one each, all."""
    offer, ladder = where
    if asked.maximise is not Maximise.MICRO_BATCH:
        places = [ladder.sizes.index(size) + 1]
        while places[-1] > 1 and len(places) < GROWTH:
            places.append(places[-1] // 2)
        return [(where, ladder.sizes[place - 1]) for place in reversed(places)]
    alone = [each for each in asked.ladders if each[0] is offer and each[1].sizes[0] <= size]
    return sorted(((each, each[1].sizes[0]) for each in alone), key=itemgetter(1))[-GROWTH:]
