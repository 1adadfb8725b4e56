"""Detector: which of the known limitations and bottlenecks a plan has.

Each cause is one function that looks at a case and says what it sees; a cause that does not show
says nothing. Remedies are priced by the same formulas as the plan itself.

Source: kahira2021, table V.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.plan.enumeration import ORDERS
from foretrain.plan.legality import problems
from foretrain.plan.plan import ChannelSplit, Plan, Sharding
from foretrain.plan.study import Study
from foretrain.plan.table import table_of
from foretrain.search.explain.finding import (
    CAUSES,
    NOTHING,
    Change,
    Examined,
    Finding,
    Measured,
)
from foretrain.show.words import percent
from foretrain.step.estimate import single_plan
from foretrain.step.held import hold
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.step.software import study_setting
from foretrain.step.step import factors, step_times
from foretrain.study.coefficients import DEFAULT

NOTABLE = 0.1
"""Share of a step, or of memory, from which on something is worth a word: weight updates of 15 %
of compute are told as one (kahira2021, section 5.3), those of a few per cent are not."""

OFF = 1.25
"""Measured over predicted from which on a phase is held back: about as far as one in ten
predictions of steps is off (`validate`)."""

MESSAGES = ("halo", "pipeline")
COLLECTIVES = ("tensor", "context", "expert", "gradients", "parameters")
"""Parts of a step that are messages between neighbours, and those that are collectives."""


class Sight(NamedTuple):
    """What a look at a case shows, in the words of `Finding`."""

    term: str
    share: float
    ratio: float | None
    evidence: str
    remedy: Change | None


def gradient_exchange(case: Examined) -> Iterator[Sight]:
    """Gradients of all parameters, whatever the batch: fewer replicas or owners of a part help."""
    parts = ("gradients", "parameters")
    seconds, plan = case.seconds(*parts), case.plan
    if plan.data * plan.context > 1 and seconds > NOTABLE * case.step:
        told = f"replicas exchange gradients for {seconds:.3g} s of {case.step:.3g} s"
        remedy = case.quickest([*_sharded(plan), *_fewer_replicas(plan)])
        yield Sight("gradients", seconds / case.step, case.ratio(*parts), told, remedy)


def _sharded(plan: Plan) -> Iterator[Plan]:
    return (replace(plan, sharding=kind) for kind in Sharding if kind > plan.sharding)


def _fewer_replicas(plan: Plan) -> Iterator[Plan]:
    """Half the replicas, each of twice the devices, along another axis."""
    if plan.data % 2 == 0:
        half = replace(plan, data=plan.data // 2)
        yield replace(half, tensor=2 * plan.tensor)
        yield replace(half, pipeline=2 * plan.pipeline)
        for grid in _wider(plan):
            yield replace(half, grid=grid, context=2 * plan.context)


def _wider(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Grids of twice the devices."""
    for sides in (plan.grid,) if plan.grid else ((1,), (1, 1), (1, 1, 1)):
        for place in range(len(sides)):
            yield (*sides[:place], 2 * sides[place], *sides[place + 1 :])


def layer_wise(case: Examined) -> Iterator[Sight]:
    """Collectives in every layer, which grow with the batch: fewer members, or tokens divided."""
    seconds, plan = case.seconds("tensor"), case.plan
    if seconds > NOTABLE * case.step:
        told = f"members of the tensor axis exchange {seconds:.3g} s of {case.step:.3g} s"
        fewer = [
            replace(plan, tensor=plan.tensor // n, data=n * plan.data)
            for n in range(2, plan.tensor + 1)
            if plan.tensor % n == 0
        ]
        other = [replace(plan, convolutions=kind) for kind in ChannelSplit]
        remedy = case.quickest([*fewer, *other, replace(plan, sequence_parallel=True)])
        yield Sight("tensor", seconds / case.step, case.ratio("tensor"), told, remedy)


def host_path(case: Examined) -> Iterator[Sight]:
    """Messages between neighbours that go through the memory of hosts."""
    links = case.known.coefficients.links
    direct = {"links.staged": 0.0, "links.staged_start": 0.0}
    ratio = case.ratio(*MESSAGES)
    staged = links.staged > 0.0 or links.staged_start > 0.0
    if not case.seconds(*MESSAGES) or not (staged or (ratio or 0.0) > OFF):
        return
    if staged:
        coefficients = case.known.coefficients.changed(direct)
        quick = setting(case.known.workload, case.known.cluster, coefficients)
        found = price_plan(quick, case.plan, played=False)
        saved = case.estimate.step_time - found.step_time
    else:
        saved = case.seconds(*MESSAGES) - case.predicted(*MESSAGES)
    if saved > NOTABLE / 10.0 * case.step:
        seconds = case.seconds(*MESSAGES)
        told = f"messages between neighbours take {seconds:.3g} s, {saved:.3g} s more than direct"
        remedy = Change(change="send from device to device (GPUDirect)", gain=saved / case.step)
        term = "halo" if case.plan.grid else "pipeline"
        yield Sight(term, seconds / case.step, ratio, told, remedy)


def congestion(case: Examined) -> Iterator[Sight]:
    """Links that several groups share, or that others use: another order, or more of them."""
    ratio, step = case.ratio(*COLLECTIVES), case.estimate.step_time
    if (ratio or 0.0) > OFF:
        lost = case.seconds(*COLLECTIVES) - case.predicted(*COLLECTIVES)
        if lost > NOTABLE * case.step:
            told = f"collectives take {ratio:.2f} times what the links give"
            remedy = Change(change="links that no other job uses", gain=lost / case.step)
            yield Sight("collectives", lost / case.step, ratio, told, remedy)
        return
    alone = setting(case.known.workload, _uncrowded(case.known.cluster), case.known.coefficients)
    free = price_plan(alone, case.plan, played=False).step_time
    if step - free > NOTABLE * step:
        told = f"groups that share links lose {step - free:.3g} s of {step:.3g} s to one another"
        other = case.quickest([replace(case.plan, order=order) for order in ORDERS])
        yield Sight("collectives", 1.0 - free / step, ratio, told, other)


def _uncrowded(cluster: Cluster) -> Cluster:
    """The same links, each for one device alone."""
    levels = tuple(
        replace(level, link=replace(level.link, capacity=None, contention=None))
        for level in cluster.levels
    )
    return replace(cluster, levels=levels)


def staging(case: Examined) -> Iterator[Sight]:
    """Samples that come too slowly, from storage, cores, or one process that reads for all."""
    seconds = case.seconds("input")
    if seconds > NOTABLE * case.step:
        told = f"devices wait {seconds:.3g} s of {case.step:.3g} s for samples"
        remedy = Change(
            change="read and prepare in every process, on more cores", gain=seconds / case.step
        )
        yield Sight("input", seconds / case.step, case.ratio("input"), told, remedy)


def copies(case: Examined) -> Iterator[Sight]:
    """What several devices hold of the same: parameters of replicas, pictures of tensor members."""
    plan = case.plan
    plans = [*_sharded(plan), replace(plan, sequence_parallel=True)]
    if plan.tensor > 1:
        plans += [
            replace(plan, tensor=1, grid=grid, context=plan.tensor)
            for grid in ((plan.tensor,), (plan.tensor, 1), (plan.tensor, 1, 1))
            if plan.context == 1
        ]
    remedy = case.leanest(plans)
    total = case.estimate.memory.total
    full = total > (1.0 - 5.0 * NOTABLE) * case.known.cluster.device.memory
    if remedy is not None and full and (remedy.gain or 0.0) > NOTABLE:
        told = f"{percent(remedy.gain or 0.0)} of {total / 2**30:.3g} GiB need not be held twice"
        yield Sight("memory", remedy.gain or 0.0, None, told, remedy)


def fragmentation(case: Examined) -> Iterator[Sight]:
    """Memory that the allocator has taken and cannot hand out."""
    taken, used = case.measured.reserved, case.measured.allocated
    if not taken or not used:
        return
    lost = 1.0 - used / taken
    if lost > NOTABLE:
        told = f"{(taken - used) / 2**30:.3g} GiB are taken from the device and not handed out"
        remedy = Change(change="segments that can grow (expandable_segments)", gain=lost)
        yield Sight("fragmentation", lost, taken / used, told, remedy)


def weight_update(case: Examined) -> Iterator[Sight]:
    """An optimizer that every replica runs for all parameters."""
    seconds = case.seconds("update")
    if seconds > NOTABLE * case.step:
        told = f"the optimizer takes {seconds:.3g} s of {case.step:.3g} s"
        remedy = case.quickest([*_sharded(case.plan)])
        yield Sight("update", seconds / case.step, case.ratio("update"), told, remedy)


def imbalance(case: Examined) -> Iterator[Sight]:
    """Stages that wait for a slower one."""
    plan, known = case.plan, case.known
    if plan.pipeline == 1:
        return
    stages = step_times(known, factors(known, hold(known, table_of([plan])))).stages
    busy = [stage.forward + stage.backward for stage in stages]
    idle = 1.0 - sum(busy) / len(busy) / max(busy)
    if idle > NOTABLE:
        slowest = busy.index(max(busy)) + 1
        mean = sum(busy) / len(busy)
        told = f"stage {slowest} of {len(busy)} computes {max(busy):.3g} s, the mean {mean:.3g} s"
        other = replace(plan, cut="balanced", interleaving=1)
        plans = [
            replace(other, pipeline=n, data=plan.data * plan.pipeline // n)
            for n in range(1, plan.pipeline + 1)
            if plan.pipeline % n == 0
        ]
        yield Sight("bubble", idle, case.ratio("bubble"), told, case.quickest(plans))


def redundancy(case: Examined) -> Iterator[Sight]:
    """Compute that does not shrink as an operator is divided among more members."""
    plan, known = case.plan, case.known
    if plan.tensor == 1:
        return
    # What one device takes for the same samples, shared by those that divide its operators.
    alone = replace(plan, tensor=1, expert_tensor=1, sequence_parallel=False)
    parts = price_plan(known, alone, played=False).parts
    ideal, now = (parts.forward + parts.backward) / plan.tensor, case.seconds("forward", "backward")
    lost = now - ideal
    if now > OFF * ideal and lost > NOTABLE * case.step:
        told = f"members compute {now:.3g} s where {ideal:.3g} s would be their part"
        fewer = [replace(plan, tensor=1, expert_tensor=1, data=plan.data * plan.tensor)]
        if plan.context == 1:
            fewer += [
                replace(plan, tensor=1, context=plan.tensor, grid=grid)
                for grid in ((plan.tensor,), (plan.tensor, 1), (plan.tensor, 1, 1))
            ]
        ratio = case.ratio("forward", "backward")
        yield Sight("forward", lost / case.step, ratio, told, case.quickest(fewer))


def limit_of_scaling(case: Examined) -> Iterator[Sight]:
    """A degree that cannot be doubled: the reason names what there is too little of."""
    plan = case.plan
    deeper = replace(plan, pipeline=2 * plan.pipeline)
    wider = {
        "data": [replace(plan, data=2 * plan.data, micro_batch=1)],
        "tensor": [
            replace(
                plan,
                tensor=2 * plan.tensor,
                expert_tensor=plan.expert_tensor * (2 if plan.expert_tensor > 1 else 1),
            )
        ],
        "context": [
            replace(plan, context=2 * plan.context, grid=grid)
            for grid in (_wider(plan) if plan.grid else ((),))
        ],
        "pipeline": [
            replace(longer, cut=cut)
            for cut in dict.fromkeys((plan.cut, "even"))
            for longer in (deeper, replace(deeper, interleaving=1))
        ],
    }
    for axis, plans in wider.items():
        degree = getattr(plan, axis)
        told = [_refused(case, each) for each in plans if degree > 1]
        if told and all(told):
            # Whatever the strategy, samples, channels, pixels or layers are all given out.
            other = case.quickest([*_fewer_replicas(plan)]) if axis == "data" else None
            yield Sight(axis, 1.0, None, f"{degree} is the most: {told[-1]}", other)


def _refused(case: Examined, plan: Plan) -> str:
    """Why a plan cannot run on twice the devices; empty if it can."""
    *inner, last = case.known.cluster.levels
    levels = (*inner, replace(last, members=2 * last.members))
    wrong = problems(case.known.workload, replace(case.known.cluster, levels=levels), plan)
    return wrong[0] if wrong else ""


LOOKS: Mapping[str, Callable[[Examined], Iterator[Sight]]] = MappingProxyType(
    {
        "gradient-exchange": gradient_exchange,
        "layer-wise-collectives": layer_wise,
        "host-path": host_path,
        "congestion": congestion,
        "input-staging": staging,
        "redundant-copies": copies,
        "fragmentation": fragmentation,
        "weight-update": weight_update,
        "stage-imbalance": imbalance,
        "compute-redundancy": redundancy,
        "scaling-limit": limit_of_scaling,
    }
)
"""The look that sees each cause."""


def findings(
    study: Study, *, measured: Measured = NOTHING, coefficients: Coefficients = DEFAULT
) -> tuple[Finding, ...]:
    """What limits the study's one plan, or holds back the run that was measured of it.

    Args:
        study: with one value for each field of the plan, as `estimate` takes it.
        measured: what somebody measured of such a run.
        coefficients: how well hardware and software do.

    Returns:
        One finding for each cause that shows, in the order of the published table.

    Raises:
        InputError: the plan is not one plan, or cannot run on the cluster.
    """
    plan, _ = single_plan(study)
    if wrong := problems(study.workload, study.cluster, plan):
        raise InputError("\n".join(wrong))
    known = study_setting(study, study.cluster, coefficients)
    case = Examined(known=known, estimate=price_plan(known, plan, played=False), measured=measured)
    return tuple(
        Finding(
            kind=kind,
            term=sight.term,
            share=sight.share,
            measured_ratio=sight.ratio,
            evidence=sight.evidence,
            remedy=sight.remedy,
        )
        for kind in CAUSES
        for sight in LOOKS[kind.id](case)
    )
