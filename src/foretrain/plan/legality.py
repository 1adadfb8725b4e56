"""Legality: what keeps a plan from running at all, in words.

A rule sees what is fixed of a plan and stays silent where it would need a field that is free, so
that the same rules judge one plan and a space of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from math import gcd, prod
from typing import Any

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError
from foretrain.plan.divisors import divisors
from foretrain.plan.plan import Plan
from foretrain.plan.space import Space
from foretrain.plan.study import Limit, Objective
from foretrain.workload.operator import Attention, Operator
from foretrain.workload.workload import Workload

LARGEST_FACTORED = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What is known of a plan, under the names of `Plan`; None for a field that is free."""

    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    interleaving: int | None = None
    micro_batch: int | None = None
    sequence_parallel: bool | None = None
    attention: Attention | None = None

    def __post_init__(self) -> None:
        for name in ("data", "tensor", "pipeline", "interleaving", "micro_batch"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise InputError(f"plan.{name} must be at least 1, got {value}.")


def problems(workload: Workload, cluster: Cluster, plan: Plan) -> list[str]:
    """Why a plan cannot run, one sentence per reason that names its key; empty if it can.

    Whether it fits in memory is not asked here.
    """
    known = Fixed(**{field.name: getattr(plan, field.name) for field in fields(Fixed)})
    return [
        *precision_problems(workload, cluster),
        *_devices(cluster, known),
        *_judged(workload, known),
    ]


def device_problems(cluster: Cluster, space: Space) -> list[str]:
    """Why no plan of a space suits the number of devices, as far as its fixed fields tell."""
    return list(_devices(cluster, _fixed(space)))


def workload_problems(workload: Workload, space: Space) -> list[str]:
    """Why no plan of a space can divide the workload, as far as one field after the other tells."""
    fixed = _fixed(space)
    return [*_judged(workload, fixed), *_hopeless(workload, space, fixed)]


def precision_problems(workload: Workload, cluster: Cluster) -> list[str]:
    """Why the cluster's device cannot compute in the workload's precision; empty if it can."""
    peak = cluster.device.peak
    if getattr(peak, workload.precision) is not None:
        return []
    known = [field.name for field in fields(peak) if getattr(peak, field.name) is not None]
    return [
        f"workload.precision: {cluster.device.name} does not compute in {workload.precision}. "
        f"It knows {', '.join(known)}."
    ]


def search_problems(
    workload: Workload, cluster: Cluster, *, objective: Objective, limit: Limit
) -> list[str]:
    """Why an objective or a limit cannot be computed from what the question says."""
    found = []
    dollars = 'cost needs cluster.price, such as "2.5 USD/h" for one device.'
    if cluster.price is None and objective is Objective.COST:
        found.append(f"search.objective: {dollars}")
    if cluster.price is None and limit.cost is not None:
        found.append(f"search.limit.cost: {dollars}")
    if cluster.node_power is None and objective is Objective.ENERGY:
        found.append('search.objective: energy needs cluster.node_power, such as "6.5 kW".')
    found += [
        f"search.limit.{name}: needs workload.amount: how much to train."
        for name in ("cost", "deadline")
        if getattr(limit, name) is not None and workload.samples is None
    ]
    if limit.devices is not None and limit.devices < cluster.devices:
        found.append(
            f"search.limit.devices: {limit.devices} is below the cluster's {cluster.devices} "
            "devices, all of which a plan uses. Lower cluster.nodes."
        )
    return found


def _fixed(space: Space) -> Fixed:
    """The fields of a space with a single choice."""
    choices: dict[str, tuple[Any, ...]] = {
        field.name: getattr(space, field.name) or () for field in fields(Fixed)
    }
    return Fixed(**{name: choice[0] for name, choice in choices.items() if len(choice) == 1})


def _hopeless(workload: Workload, space: Space, fixed: Fixed) -> Iterator[str]:
    """Fields with several choices none of which goes with the fixed fields."""
    known = _judged(workload, fixed)
    for field in fields(Fixed):
        choices = getattr(space, field.name) or ()
        if len(choices) > 1:
            found = [_judged(workload, replace(fixed, **{field.name: each})) for each in choices]
            new = [[text for text in texts if text not in known] for texts in found]
            if all(new):
                shown = ", ".join(map(str, choices))
                why = new[0][0].partition(": ")[2]
                yield f"plan.{field.name}: none of {shown} can run. {why}"


def _judged(workload: Workload, plan: Fixed) -> list[str]:
    return [text for rule in RULES for text in rule(workload, plan)]


def _devices(cluster: Cluster, plan: Fixed) -> Iterator[str]:
    """The degrees use every device once."""
    degrees = {"data": plan.data, "tensor": plan.tensor, "pipeline": plan.pipeline}
    known = {name: degree for name, degree in degrees.items() if degree is not None}
    used = prod(known.values())
    keys = " x ".join(f"plan.{name}" for name in known)
    shown = " x ".join(map(str, known.values()))
    if len(known) == len(degrees) and used != cluster.devices:
        yield f"{keys}: {shown} is {used} devices; the cluster has {cluster.devices}."
    elif cluster.devices % used:
        product = f"{shown} = {used}" if len(known) > 1 else shown
        yield (
            f"{keys}: {product} does not divide the cluster's {cluster.devices} devices."
            f"{_nearest_divisors(used, cluster.devices)}"
        )


def _batch(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every replica gets the same number of whole micro-batches."""
    samples = workload.global_batch
    data = plan.data or 1
    if samples % data:
        yield (
            f"plan.data: {data} replicas do not divide the {samples} samples of "
            f"workload.global_batch.{_nearest_divisors(data, samples)}"
        )
        data = 1  # the micro-batch is judged by what any number of replicas would share
    share = samples // data
    if plan.micro_batch is not None and share % plan.micro_batch:
        whose = f"the {share} samples of a replica" if data > 1 else f"{share} samples"
        yield (
            f"plan.micro_batch: {plan.micro_batch} does not divide {whose} "
            f"(workload.global_batch is {samples}).{_nearest_divisors(plan.micro_batch, share)}"
        )


def _units(workload: Workload, plan: Fixed) -> Iterator[str]:
    """The tensor axis splits heads and other indivisible parts evenly."""
    tensor = plan.tensor or 1
    parts = {
        (operator.units, operator.unit): None
        for operator in _present(workload, plan)
        if operator.units
    }
    uneven = [f"{units} {unit}" for units, unit in parts if units % tensor]
    if uneven:
        together = gcd(*(units for units, _ in parts))
        yield (
            f"plan.tensor: {tensor} cannot split {' or '.join(uneven)} of {workload.model.name} "
            f"evenly.{_nearest_divisors(tensor, together)}"
        )


def _present(workload: Workload, plan: Fixed) -> Iterator[Operator]:
    """The operators of the model, those of another attention kernel apart."""
    for _, operator in workload.model.operators:
        if plan.attention is None or operator.attention in (None, plan.attention):
            yield operator


def _tokens(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Sequence parallelism splits the tokens of a sample evenly."""
    tokens, tensor = workload.model.tokens, plan.tensor or 1
    if plan.sequence_parallel and tokens % tensor:
        yield (
            f"plan.sequence_parallel: plan.tensor {tensor} does not divide the {tokens} tokens "
            f"of a sample.{_nearest_divisors(tensor, tokens)}"
        )


def _stages(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every chunk of every stage holds the same number of layers."""
    layers = workload.model.cuttable_layers
    chunks = (plan.pipeline or 1) * (plan.interleaving or 1)
    if layers % chunks == 0:
        return
    if plan.pipeline is None or layers % plan.pipeline == 0:
        stages = f"{plan.pipeline} stages x " if plan.pipeline else ""
        yield (
            f"plan.interleaving: {stages}{plan.interleaving} chunks do not divide the {layers} "
            f"layers of {workload.model.name}."
            f"{_nearest_divisors(plan.interleaving or 1, layers // (plan.pipeline or 1))}"
        )
    else:
        yield (
            f"plan.pipeline: {plan.pipeline} stages do not divide the {layers} layers of "
            f"{workload.model.name}.{_nearest_divisors(plan.pipeline, layers)}"
        )


def _interleaving(workload: Workload, plan: Fixed) -> Iterator[str]:
    """An interleaved schedule has a pipeline and fills it in whole rounds."""
    if plan.interleaving in (None, 1) or plan.pipeline is None:
        return
    if plan.pipeline == 1:
        yield f"plan.interleaving: {plan.interleaving} chunks need plan.pipeline of at least 2."
        return
    if plan.data is None or plan.micro_batch is None:
        return
    count, rest = divmod(workload.global_batch, plan.data * plan.micro_batch)
    if not rest and count % plan.pipeline:
        yield (
            f"plan.interleaving: {count} micro-batches (workload.global_batch / (plan.data x "
            f"plan.micro_batch)) are no multiple of the {plan.pipeline} stages, as an interleaved "
            "schedule needs."
        )


def _nearest_divisors(value: int, number: int) -> str:
    """A hint: the divisors of a number just below and just above a value."""
    if number > LARGEST_FACTORED:
        return ""
    below = [each for each in divisors(number) if each < value][-1:]
    above = [each for each in divisors(number) if each > value][:1]
    return f" Nearest that do: {' and '.join(map(str, below + above))}."


RULES: tuple[Callable[[Workload, Fixed], Iterator[str]], ...] = (
    _batch,
    _units,
    _tokens,
    _stages,
    _interleaving,
)
