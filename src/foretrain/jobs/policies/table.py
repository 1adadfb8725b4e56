"""The policies by name, each with a sentence on what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from foretrain.cluster.fleet import Fleet
from foretrain.errors import InputError, nearest
from foretrain.jobs.hazard import learned
from foretrain.jobs.ordered import OrderedDispatcher, Ordering
from foretrain.jobs.policies.aware import (
    aware,
    aware_efficient,
    fifo_efficient,
    fifo_max,
    srtf_efficient,
)
from foretrain.jobs.policies.easy import EasyDispatcher
from foretrain.jobs.policies.equal import equal_share, gandiva_fair, hesrpt, processor_sharing
from foretrain.jobs.policies.fifo import estimated, fifo, predicted, sjf, srtf, srtf_guessed
from foretrain.jobs.policies.gittins import gittins, las, tiresias
from foretrain.jobs.policies.max_min import (
    AlloX,
    FinishTimeFairness,
    max_min,
    max_min_over_kinds,
    max_sum,
)
from foretrain.jobs.policies.optimus import optimus
from foretrain.jobs.policies.pollux import Pollux
from foretrain.jobs.policies.sia import Sia
from foretrain.jobs.rounds import Division, RoundsDispatcher, Rules
from foretrain.jobs.shared import Policy, SharedDispatcher
from foretrain.jobs.simulation import Dispatcher
from foretrain.measured.job import Trace

LEVELS = (3_600.0, 36_000.0)
"""Device-seconds at which jobs fall a level: a device for one and for ten hours.

Source: gu2019, section 5: two to three queues; the bounds are the user's there, assumed here.
"""

THRESHOLD = 0.5
"""Share of its speed that a device of an efficiency-capped job keeps; assumed."""

WIDE = 0.6
"""The same under `aware-efficient`; see docs/background/early-ends.md."""

EXPONENT = 0.5
"""Of the power of devices that heSRPT takes for every job's speed; assumed."""

LEASE = Rules().period
"""Seconds of a round of policies that divide time, where the study says none."""

ROUND = 60.0
"""Seconds of a round of policies that need one, where the study says none. Source: qiao2021."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInputs:
    """What a policy may be made of.

    Attributes:
        fleet: what jobs share.
        past: jobs of the same kind that ended before, from which a policy may learn.
        period: seconds of a scheduling round; 0 to decide at every event.
    """

    fleet: Fleet
    past: Trace
    period: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A policy in the table.

    Attributes:
        says: what it does, in a sentence.
        make: a dispatcher for one run.
        knows: what it must know of a job before it runs: nothing, its length, its speed.
        fluid: whether it divides devices into parts, so that they lie on no node.
        period: seconds of its rounds where the study says none; 0 if it needs no rounds.
        one_kind: whether it takes all devices for equal, and so needs a fleet of one kind.
        weighs: whether it heeds the priorities of jobs.
    """

    says: str
    make: Callable[[PolicyInputs], Dispatcher]
    knows: str = "nothing"
    fluid: bool = False
    period: float = 0.0
    one_kind: bool = False
    weighs: bool = False

    @property
    def learns(self) -> bool:
        """Whether it learns from past jobs."""
        return "past jobs" in self.knows


def named(policy: str) -> Named:
    """The policy of a name.

    Raises:
        InputError: with the known ones.
    """
    found = POLICIES.get(policy)
    if found is None:
        known = ", ".join(POLICIES)
        raise InputError(f"unknown policy '{policy}'.{nearest(policy, POLICIES)} Known: {known}.")
    return found


def _ordered(order: Callable[[], Ordering]) -> Callable[[PolicyInputs], Dispatcher]:
    return lambda asked: OrderedDispatcher(order())


def _shared(policy: Policy) -> Callable[[PolicyInputs], Dispatcher]:
    return lambda asked: SharedDispatcher(policy, asked.fleet, period=asked.period)


def _divided(division: Callable[[], Division]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a division of time, dealt out in rounds."""
    return lambda asked: RoundsDispatcher(
        division(), asked.fleet, rules=Rules(period=asked.period) if asked.period else Rules()
    )


def _in_rounds(policy: Callable[[], Policy]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a policy that decides in rounds only."""
    return lambda asked: SharedDispatcher(policy(), asked.fleet, period=asked.period or ROUND)


def _fresh(policy: Callable[[], Policy]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a policy that remembers jobs, another one for each run."""
    return lambda asked: SharedDispatcher(policy(), asked.fleet, period=asked.period)


POLICIES: Mapping[str, Named] = {
    "fifo": Named(says="who came first runs first; nobody passes", make=_ordered(fifo)),
    "sjf": Named(
        says="the shortest job first, without interruption",
        make=_ordered(sjf),
        knows="length",
    ),
    "srtf": Named(
        says="the job with the least left first, with interruption",
        make=_ordered(srtf),
        knows="length",
    ),
    "las": Named(says="who has got least first, in levels", make=_ordered(lambda: las(LEVELS))),
    "srtf-estimated": Named(
        says="the least left first by what users said, with interruption",
        make=lambda asked: OrderedDispatcher(srtf_guessed(estimated(asked.past))),
        knows="users' estimates",
    ),
    "srtf-predicted": Named(
        says="the least left first by what past jobs alike took, with interruption",
        make=lambda asked: OrderedDispatcher(srtf_guessed(predicted(asked.past))),
        knows="past jobs",
    ),
    "gittins": Named(
        says="who is likeliest to end soon, by what it has got and what past jobs took",
        make=lambda asked: OrderedDispatcher(gittins(asked.past)),
        knows="past jobs",
    ),
    "aware": Named(
        says="the least expected work per success first, by how past jobs ended early",
        make=lambda asked: OrderedDispatcher(aware(learned(asked.past))),
        knows="length and past jobs",
    ),
    "aware-efficient": Named(
        says="the least expected work per success first, each as wide as is efficient",
        make=lambda asked: SharedDispatcher(
            aware_efficient(learned(asked.past), threshold=WIDE), asked.fleet, period=asked.period
        ),
        knows="length, speed and past jobs",
        one_kind=True,
    ),
    "tiresias": Named(
        says="in rounds, who has got little first, then who fell first",
        make=_in_rounds(tiresias),
        period=ROUND,
        one_kind=True,
    ),
    "easy": Named(
        says="who came first has a reservation; others pass where they do not touch it",
        make=lambda asked: EasyDispatcher(),
        knows="length",
    ),
    "fifo-max": Named(
        says="who came first gets all devices that it can use",
        make=_fresh(fifo_max),
        knows="speed",
        one_kind=True,
    ),
    "fifo-efficient": Named(
        says="in the order of arrival, each as wide as its devices stay efficient",
        make=_fresh(lambda: fifo_efficient(THRESHOLD)),
        knows="speed",
        one_kind=True,
    ),
    "srtf-efficient": Named(
        says="the shortest remaining first, each as wide as its devices stay efficient",
        make=_fresh(lambda: srtf_efficient(THRESHOLD)),
        knows="length and speed",
        one_kind=True,
    ),
    "equal-share": Named(
        says="whole devices, as equal as can be",
        make=_shared(equal_share),
        knows="speed",
        one_kind=True,
    ),
    "hesrpt": Named(
        says="the shares of a fluid that are best if no further job comes",
        make=_shared(hesrpt(EXPONENT)),
        knows="length",
        fluid=True,
        one_kind=True,
    ),
    "processor-sharing": Named(
        says="an equal share for everybody, as a fluid",
        make=_shared(processor_sharing),
        knows="speed",
        fluid=True,
        one_kind=True,
    ),
    "max-min": Named(
        says="in rounds, equal device-seconds for all",
        make=_divided(lambda: max_min),
        period=LEASE,
        one_kind=True,
    ),
    "max-min-kinds": Named(
        says="in rounds, the least normalised throughput over kinds as large as can be",
        make=_divided(lambda: max_min_over_kinds),
        period=LEASE,
        knows="speed",
        weighs=True,
    ),
    "max-sum": Named(
        says="in rounds, the most work of all jobs together",
        make=_divided(lambda: max_sum),
        period=LEASE,
        knows="speed",
        one_kind=True,
    ),
    "gandiva-fair": Named(
        says="in rounds, the same share of time for all",
        make=_divided(lambda: gandiva_fair),
        period=LEASE,
        one_kind=True,
    ),
    "finish-time": Named(
        says="in rounds, nobody ends much later than on an equal part",
        make=_divided(FinishTimeFairness),
        period=LEASE,
        knows="length and speed",
        one_kind=True,
    ),
    "allox": Named(
        says="in rounds, jobs matched to devices so that the mean response is least",
        make=_divided(AlloX),
        period=LEASE,
        knows="length and speed",
    ),
    "optimus": Named(
        says="in rounds, each device to the job whose end it brings nearest",
        make=_in_rounds(lambda: optimus),
        period=ROUND,
        knows="length and speed",
        one_kind=True,
    ),
    "pollux": Named(
        says="in rounds, the largest mean speed-up, on less than a node or whole nodes",
        make=_in_rounds(Pollux),
        period=ROUND,
        knows="speed",
        one_kind=True,
    ),
    "sia": Named(
        says="in rounds, one configuration for each job, by an integer program",
        make=_in_rounds(Sia),
        period=ROUND,
        knows="speed",
    ),
}
