"""The policies by name, each with a sentence on what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
from foretrain.jobs.policies.own import own_policy
from foretrain.jobs.policies.policy import Known, NamedPolicy, PolicyInputs
from foretrain.jobs.policies.pollux import Pollux
from foretrain.jobs.policies.sia import Sia
from foretrain.jobs.rounds import Division, RoundsDispatcher, Rules
from foretrain.jobs.shared import Policy, SharedDispatcher
from foretrain.jobs.simulation import Dispatcher
from foretrain.plugins import POLICY, registered

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


def named(policy: str) -> NamedPolicy:
    """The policy of a name: one of the table, one registered, or `package.module:name`.

    Raises:
        InputError: with the known ones.
    """
    found = POLICIES.get(policy) or own_policy(policy)
    if found is None:
        names = [*POLICIES, *registered(POLICY)]
        told = f"Known: {', '.join(names)}; or write your own as package.module:name."
        raise InputError(f"unknown policy '{policy}'.{nearest(policy, names)} {told}")
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


POLICIES: Mapping[str, NamedPolicy] = {
    "fifo": NamedPolicy(says="who came first runs first; nobody passes", make=_ordered(fifo)),
    "sjf": NamedPolicy(
        says="the shortest job first, without interruption",
        make=_ordered(sjf),
        knows=(Known.LENGTH,),
    ),
    "srtf": NamedPolicy(
        says="the job with the least left first, with interruption",
        make=_ordered(srtf),
        knows=(Known.LENGTH,),
    ),
    "las": NamedPolicy(
        says="who has got least first, in levels", make=_ordered(lambda: las(LEVELS))
    ),
    "srtf-estimated": NamedPolicy(
        says="the least left first by what users said, with interruption",
        make=lambda asked: OrderedDispatcher(srtf_guessed(estimated(asked.past))),
        knows=(Known.ESTIMATES,),
    ),
    "srtf-predicted": NamedPolicy(
        says="the least left first by what past jobs alike took, with interruption",
        make=lambda asked: OrderedDispatcher(srtf_guessed(predicted(asked.past))),
        knows=(Known.PAST,),
    ),
    "gittins": NamedPolicy(
        says="who is likeliest to end soon, by what it has got and what past jobs took",
        make=lambda asked: OrderedDispatcher(gittins(asked.past)),
        knows=(Known.PAST,),
    ),
    "aware": NamedPolicy(
        says="the least expected work per success first, by how past jobs ended early",
        make=lambda asked: OrderedDispatcher(aware(learned(asked.past))),
        knows=(Known.LENGTH, Known.PAST),
    ),
    "aware-efficient": NamedPolicy(
        says="the least expected work per success first, each as wide as is efficient",
        make=lambda asked: SharedDispatcher(
            aware_efficient(learned(asked.past), threshold=WIDE), asked.fleet, period=asked.period
        ),
        knows=(Known.LENGTH, Known.SPEED, Known.PAST),
        one_kind=True,
    ),
    "tiresias": NamedPolicy(
        says="in rounds, who has got little first, then who fell first",
        make=_in_rounds(tiresias),
        period=ROUND,
        one_kind=True,
    ),
    "easy": NamedPolicy(
        says="who came first has a reservation; others pass where they do not touch it",
        make=lambda asked: EasyDispatcher(),
        knows=(Known.LENGTH,),
    ),
    "fifo-max": NamedPolicy(
        says="who came first gets all devices that it can use",
        make=_fresh(fifo_max),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "fifo-efficient": NamedPolicy(
        says="in the order of arrival, each as wide as its devices stay efficient",
        make=_fresh(lambda: fifo_efficient(THRESHOLD)),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "srtf-efficient": NamedPolicy(
        says="the shortest remaining first, each as wide as its devices stay efficient",
        make=_fresh(lambda: srtf_efficient(THRESHOLD)),
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "equal-share": NamedPolicy(
        says="whole devices, as equal as can be",
        make=_shared(equal_share),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "hesrpt": NamedPolicy(
        says="the shares of a fluid that are best if no further job comes",
        make=_shared(hesrpt(EXPONENT)),
        knows=(Known.LENGTH,),
        fluid=True,
        one_kind=True,
    ),
    "processor-sharing": NamedPolicy(
        says="an equal share for everybody, as a fluid",
        make=_shared(processor_sharing),
        knows=(Known.SPEED,),
        fluid=True,
        one_kind=True,
    ),
    "max-min": NamedPolicy(
        says="in rounds, equal device-seconds for all",
        make=_divided(lambda: max_min),
        period=LEASE,
        one_kind=True,
    ),
    "max-min-kinds": NamedPolicy(
        says="in rounds, the least normalised throughput over kinds as large as can be",
        make=_divided(lambda: max_min_over_kinds),
        period=LEASE,
        knows=(Known.SPEED,),
        weighs=True,
    ),
    "max-sum": NamedPolicy(
        says="in rounds, the most work of all jobs together",
        make=_divided(lambda: max_sum),
        period=LEASE,
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "gandiva-fair": NamedPolicy(
        says="in rounds, the same share of time for all",
        make=_divided(lambda: gandiva_fair),
        period=LEASE,
        one_kind=True,
    ),
    "finish-time": NamedPolicy(
        says="in rounds, nobody ends much later than on an equal part",
        make=_divided(FinishTimeFairness),
        period=LEASE,
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "allox": NamedPolicy(
        says="in rounds, jobs matched to devices so that the mean response is least",
        make=_divided(AlloX),
        period=LEASE,
        knows=(Known.LENGTH, Known.SPEED),
    ),
    "optimus": NamedPolicy(
        says="in rounds, each device to the job whose end it brings nearest",
        make=_in_rounds(lambda: optimus),
        period=ROUND,
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "pollux": NamedPolicy(
        says="in rounds, the largest mean speed-up, on less than a node or whole nodes",
        make=_in_rounds(Pollux),
        period=ROUND,
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "sia": NamedPolicy(
        says="in rounds, one configuration for each job, by an integer program",
        make=_in_rounds(Sia),
        period=ROUND,
        knows=(Known.SPEED,),
    ),
}
