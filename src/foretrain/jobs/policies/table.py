"""The policies by name, each with a sentence on what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foretrain.errors import InputError, nearest
from foretrain.jobs.backfill import BackfillDispatcher
from foretrain.jobs.conservative import ConservativeDispatcher
from foretrain.jobs.kueue import KueueDispatcher
from foretrain.jobs.mix import learned
from foretrain.jobs.ordered import OrderedDispatcher, Ordering
from foretrain.jobs.policies.elastic import (
    aware,
    aware_efficient,
    equal_share,
    fifo_efficient,
    fifo_max,
    gandiva_fair,
    hesrpt,
    processor_sharing,
    srtf_efficient,
)
from foretrain.jobs.policies.gain import Pollux, Sia, optimus
from foretrain.jobs.policies.max_min import (
    AlloX,
    FinishTimeFairness,
    max_min,
    max_min_over_kinds,
    max_sum,
)
from foretrain.jobs.policies.orders import (
    estimated,
    fifo,
    gittins,
    las,
    predicted,
    sjf,
    srtf,
    srtf_guessed,
    tiresias,
)
from foretrain.jobs.policies.policy import Known, NamedPolicy, PolicyInputs, own_policy
from foretrain.jobs.rounds import Division, RoundsDispatcher, Rules
from foretrain.jobs.shared import (
    DeservingDispatcher,
    Policy,
    SharedDispatcher,
    fair_share,
    proportion,
)
from foretrain.jobs.simulation import Dispatcher
from foretrain.jobs.slurm import SlurmDispatcher
from foretrain.jobs.sweeps import AwareSweeps
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


def _divided(division: Callable[[], Division]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a division of time, dealt out in rounds."""
    return lambda asked: RoundsDispatcher(
        division(), asked.fleet, rules=Rules(period=asked.period) if asked.period else Rules()
    )


def _in_rounds(policy: Callable[[], Policy]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a policy that decides in rounds only."""
    return lambda asked: SharedDispatcher(policy(), asked.fleet, period=asked.period or ROUND)


def _shared(policy: Callable[[], Policy]) -> Callable[[PolicyInputs], Dispatcher]:
    """Of a policy that divides devices, another one for each run: it may remember jobs."""
    return lambda asked: SharedDispatcher(policy(), asked.fleet, period=asked.period)


def _aware_sweeps(asked: PolicyInputs) -> Dispatcher:
    policy = AwareSweeps()
    return SharedDispatcher(policy, asked.fleet, period=asked.period, lasts=lambda: policy.lasts)


POLICIES: Mapping[str, NamedPolicy] = {
    "fifo": NamedPolicy(says="first in, first out: nobody passes", make=_ordered(fifo)),
    "sjf": NamedPolicy(
        says="shortest job first, without preemption",
        make=_ordered(sjf),
        knows=(Known.LENGTH,),
    ),
    "srtf": NamedPolicy(
        says="shortest remaining time first, with preemption",
        make=_ordered(srtf),
        knows=(Known.LENGTH,),
    ),
    "las": NamedPolicy(
        says="least attained service first, discretised in levels",
        make=_ordered(lambda: las(LEVELS)),
    ),
    "srtf-estimated": NamedPolicy(
        says="shortest remaining time first, by users' estimates",
        make=lambda asked: OrderedDispatcher(srtf_guessed(estimated(asked.past))),
        knows=(Known.ESTIMATES,),
    ),
    "srtf-predicted": NamedPolicy(
        says="shortest remaining time first, predicted from past jobs alike",
        make=lambda asked: OrderedDispatcher(srtf_guessed(predicted(asked.past))),
        knows=(Known.PAST,),
    ),
    "gittins": NamedPolicy(
        says="largest Gittins index of attained service first, from past jobs' lengths",
        make=lambda asked: OrderedDispatcher(gittins(asked.past)),
        knows=(Known.PAST,),
    ),
    "aware": NamedPolicy(
        says="weighted shortest expected processing time first, by past jobs' early ends",
        make=lambda asked: OrderedDispatcher(aware(learned(asked.past))),
        knows=(Known.LENGTH, Known.PAST),
    ),
    "aware-efficient": NamedPolicy(
        says="weighted shortest expected processing time first, each as wide as is efficient",
        make=lambda asked: SharedDispatcher(
            aware_efficient(learned(asked.past), threshold=WIDE), asked.fleet, period=asked.period
        ),
        knows=(Known.LENGTH, Known.SPEED, Known.PAST),
        one_kind=True,
    ),
    "aware-sweeps": NamedPolicy(
        says="the sweep with the least expected device-seconds to its winner first",
        make=_aware_sweeps,
        knows=(Known.LENGTH, Known.RUNGS),
        one_kind=True,
    ),
    "tiresias": NamedPolicy(
        says="in rounds, discretised two-dimensional least attained service",
        make=_in_rounds(tiresias),
        period=ROUND,
        one_kind=True,
    ),
    "easy": NamedPolicy(
        says="EASY backfilling: others pass where they do not delay the first in line",
        make=lambda asked: BackfillDispatcher(),
        knows=(Known.LENGTH,),
    ),
    "conservative": NamedPolicy(
        says="conservative backfilling: others pass where they delay nobody",
        make=lambda asked: ConservativeDispatcher(asked.fleet),
        knows=(Known.LENGTH,),
    ),
    "slurm": NamedPolicy(
        says="Slurm: multifactor priority, backfill, limits and preemption, by the site's rules",
        make=lambda asked: SlurmDispatcher(asked.site, asked.fleet),
        knows=(Known.ESTIMATES,),
        on_nodes=True,
    ),
    "kueue": NamedPolicy(
        says="Kueue: queues with quotas that lend and take back, by the site's rules",
        weighs=True,
        make=lambda asked: KueueDispatcher(
            asked.site.queues,
            asked.fleet,
            fair=asked.site.fair_sharing,
            cohorts=asked.site.cohorts,
        ),
    ),
    "volcano": NamedPolicy(
        says="Volcano: queues within what they deserve by weight (proportion), by the site's rules",
        make=lambda asked: DeservingDispatcher(asked.site.queues, asked.fleet, divide=proportion),
    ),
    "kai": NamedPolicy(
        says="KAI: queues within their fair share of whole devices, by the site's rules",
        make=lambda asked: DeservingDispatcher(asked.site.queues, asked.fleet, divide=fair_share),
    ),
    "fifo-max": NamedPolicy(
        says="first in, first out, each on all devices that it can use",
        make=_shared(fifo_max),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "fifo-efficient": NamedPolicy(
        says="first in, first out, each as wide as its parallel efficiency allows",
        make=_shared(lambda: fifo_efficient(THRESHOLD)),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "srtf-efficient": NamedPolicy(
        says="shortest remaining time first, each as wide as its parallel efficiency allows",
        make=_shared(lambda: srtf_efficient(THRESHOLD)),
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "equal-share": NamedPolicy(
        says="equipartition of whole devices",
        make=_shared(lambda: equal_share),
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "hesrpt": NamedPolicy(
        says="heSRPT: the optimal shares of divisible devices if no further job comes",
        make=_shared(lambda: hesrpt(EXPONENT)),
        knows=(Known.LENGTH,),
        fluid=True,
        one_kind=True,
    ),
    "processor-sharing": NamedPolicy(
        says="egalitarian processor sharing of divisible devices",
        make=_shared(lambda: processor_sharing),
        knows=(Known.SPEED,),
        fluid=True,
        one_kind=True,
    ),
    "max-min": NamedPolicy(
        says="in rounds, max-min fairness of device-seconds",
        make=_divided(lambda: max_min),
        period=LEASE,
        one_kind=True,
    ),
    "max-min-kinds": NamedPolicy(
        says="in rounds, max-min fairness of normalised throughput over kinds (Gavel)",
        make=_divided(lambda: max_min_over_kinds),
        period=LEASE,
        knows=(Known.SPEED,),
        weighs=True,
    ),
    "max-sum": NamedPolicy(
        says="in rounds, the largest total throughput",
        make=_divided(lambda: max_sum),
        period=LEASE,
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "gandiva-fair": NamedPolicy(
        says="in rounds, time slices in equal shares (Gandiva-fair)",
        make=_divided(lambda: gandiva_fair),
        period=LEASE,
        one_kind=True,
    ),
    "finish-time": NamedPolicy(
        says="in rounds, finish-time fairness: the time to end over that on an equal part (Themis)",
        make=_divided(FinishTimeFairness),
        period=LEASE,
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "allox": NamedPolicy(
        says="in rounds, minimum-cost matching of jobs to devices for the mean response (AlloX)",
        make=_divided(AlloX),
        period=LEASE,
        knows=(Known.LENGTH, Known.SPEED),
    ),
    "optimus": NamedPolicy(
        says="in rounds, each device to the largest marginal gain in remaining time (Optimus)",
        make=_in_rounds(lambda: optimus),
        period=ROUND,
        knows=(Known.LENGTH, Known.SPEED),
        one_kind=True,
    ),
    "pollux": NamedPolicy(
        says="in rounds, the largest power mean of goodput speed-ups (Pollux)",
        make=_in_rounds(Pollux),
        period=ROUND,
        knows=(Known.SPEED,),
        one_kind=True,
    ),
    "sia": NamedPolicy(
        says="in rounds, one configuration for each job by an integer program (Sia)",
        make=_in_rounds(Sia),
        period=ROUND,
        knows=(Known.SPEED,),
    ),
}
