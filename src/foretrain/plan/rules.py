"""Rules: what keeps a plan from running at all, one function and one sentence each.

A rule sees what is fixed of a plan and stays silent where it would need a field that is free, so
that the same rules judge one plan and a space of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

from foretrain.errors import InputError
from foretrain.plan import division
from foretrain.plan.choices import divisors
from foretrain.plan.plan import (
    COUNTS,
    ChannelSplit,
    ContextExchange,
    Cut,
    Grid,
    Offload,
    Recompute,
    Schedule,
    Sharding,
    cuts_into,
)
from foretrain.workload.operator import UNDIVIDED, Attention
from foretrain.workload.workload import Workload

LARGEST_FACTORED = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What is known of a plan, under the names of `Plan`; None for a field that is free."""

    data: int | None = None
    tensor: int | None = None
    context: int | None = None
    pipeline: int | None = None
    expert: int | None = None
    expert_tensor: int | None = None
    interleaving: int | None = None
    micro_batch: int | None = None
    sequence_parallel: bool | None = None
    exchange: ContextExchange | None = None
    grid: Grid | None = None
    convolutions: ChannelSplit | None = None
    split: int | None = None
    sharding: Sharding | None = None
    shard: int | None = None
    recompute: Recompute | None = None
    recompute_layers: int | None = None
    offload: Offload | None = None
    offload_layers: int | None = None
    attention: Attention | None = None
    schedule: Schedule | None = None
    cut: Cut | None = None

    def __post_init__(self) -> None:
        for name in COUNTS:
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise InputError(f"plan.{name} must be at least 1, got {value}.")


def _batch(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every replica gets the same number of whole micro-batches."""
    samples = workload.global_batch
    data = plan.data or 1
    if samples % data:
        yield (
            f"plan.data: {data} replicas do not divide the {samples} samples of "
            f"workload.global_batch.{nearest_divisors(data, samples)}"
        )
        data = 1  # the micro-batch is judged by what any number of replicas would share
    share = samples // data
    if plan.micro_batch is not None and share % plan.micro_batch:
        whose = f"the {share} samples of a replica" if data > 1 else f"{share} samples"
        yield (
            f"plan.micro_batch: {plan.micro_batch} does not divide {whose} "
            f"(workload.global_batch is {samples}).{nearest_divisors(plan.micro_batch, share)}"
        )


def _units(workload: Workload, plan: Fixed) -> Iterator[str]:
    """The tensor axis splits heads and other indivisible parts evenly."""
    tensor = plan.tensor or 1
    parts = {
        (operator.units, operator.unit): None
        for _, operator in workload.model.operators
        if operator.units
        and not operator.experts
        # Operators of another attention kernel are no part of the plan.
        and (plan.attention is None or operator.attention in (None, plan.attention))
    }
    whole = [unit for _, unit in parts if unit.endswith(UNDIVIDED)]
    uneven = [f"{units} {unit}" for units, unit in parts if units % tensor]
    if whole and uneven:
        yield f"plan.tensor: {whole[0]}; leave plan.tensor out."
    elif uneven:
        together = gcd(*(units for units, _ in parts))
        yield (
            f"plan.tensor: {tensor} cannot split {' or '.join(uneven)} of {workload.model.name} "
            f"evenly.{nearest_divisors(tensor, together)}"
        )


def _tokens(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Sequence parallelism and the context axis share the tokens of a sample evenly."""
    model, tensor, context = workload.model, plan.tensor or 1, plan.context or 1
    tokens = model.tokens
    if plan.sequence_parallel and tokens % (tensor * context):
        shared = f" x plan.context {context}" if context > 1 else ""
        yield (
            f"plan.sequence_parallel: plan.tensor {tensor}{shared} does not divide the {tokens} "
            f"tokens of a sample.{nearest_divisors(tensor * context, tokens)}"
        )
    if context == 1 or plan.grid:
        return
    pictures = bool(division.pixels(model))
    if plan.grid is None and pictures:
        return
    if pictures and not model.attends:
        grid = list(_squarest(context, model.dimensions))
        yield (
            f"plan.grid: say how plan.context = {context} devices share a picture of {model.name}, "
            f"such as plan.grid = {grid}."
        )
    elif not model.attends:
        yield f"plan.context: samples of {model.name} have no tokens to share among {context}."
    elif tokens % (2 * context):
        # Causal work is even with two blocks each.
        yield (
            f"plan.context: {context} members, two blocks of tokens each, do not divide the "
            f"{tokens} tokens of a sample.{nearest_divisors(context, tokens // 2)}"
        )


def _squarest(devices: int, dimensions: int) -> Grid:
    """The grid of so many devices whose sides differ least."""
    if dimensions <= 1:
        return (devices,)
    side = min(divisors(devices), key=lambda each: abs(each**dimensions - devices))
    return tuple(sorted((side, *_squarest(devices // side, dimensions - 1)), reverse=True))


def _grid(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every member of a grid has pixels of every picture that is shared."""
    model, grid = workload.model, plan.grid or ()
    if not grid:
        return
    fewest = division.pixels(model, plan.split or 0)
    if not fewest:
        yield f"plan.grid: samples of {model.name} are no pictures whose pixels could be shared."
    elif len(grid) != len(fewest):
        yield (
            f"plan.grid: {list(grid)} has {len(grid)} numbers; pictures of {model.name} have "
            f"{len(fewest)} dimensions."
        )
    else:
        for dimension, (degree, least) in enumerate(zip(grid, fewest, strict=True), start=1):
            if degree > least.many:
                yield (
                    f"plan.grid: {degree} devices cannot share the {least.many} pixels along "
                    f"dimension {dimension} of {least.where} of {model.name}. Take at most "
                    f"{least.many}, or end the shared front before it: plan.split."
                )


def _channels(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every member of the tensor axis has channels of every convolution that is divided."""
    tensor = plan.tensor or 1
    if tensor == 1:
        return
    kinds = tuple(ChannelSplit) if plan.convolutions is None else (plan.convolutions,)
    found = []
    for kind in kinds:
        least = division.channels(workload.model, kind, plan.split or 0)
        if tensor > least.many:
            what = "filters" if kind is ChannelSplit.FILTER else "channels"
            found.append(f"the {least.many} {what} of {least.where}")
    if len(found) == len(kinds):
        yield (
            f"plan.tensor: {tensor} devices cannot share {' or '.join(found)} of "
            f"{workload.model.name}. Take fewer, or end the divided front before it: plan.split."
        )


def _split(workload: Workload, plan: Fixed) -> Iterator[str]:
    """The front of the network ends between two kinds of layers."""
    if plan.split and plan.split not in (ends := division.splits(workload.model)):
        yield (
            f"plan.split: the front of {workload.model.name} cannot end after {plan.split} layers, "
            f"but after {', '.join(map(str, ends))}; 0 is as far as it goes."
        )


def _exchange(workload: Workload, plan: Fixed) -> Iterator[str]:
    """A ring adds blocks up as it goes; an exchange of tokens for heads shares the heads."""
    together = (plan.tensor or 1) * (plan.context or 1)
    if (plan.context or 1) == 1 or plan.grid:
        return
    heads = gcd(*(o.units for _, o in workload.model.operators if o.keys))
    if plan.exchange is ContextExchange.RING and plan.attention is Attention.PLAIN:
        yield "plan.exchange: a ring needs plan.attention = 'flash', whose blocks add up."
    if plan.exchange is ContextExchange.ALL_TO_ALL and heads % together:
        yield (
            f"plan.exchange: plan.tensor x plan.context = {together} cannot share the {heads} "
            f"key-value heads of {workload.model.name}.{nearest_divisors(together, heads)}"
        )


def _experts(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Every member of the expert axis has the same number of experts."""
    operators = [o for _, o in workload.model.operators if o.experts]
    expert, tensor = plan.expert or 1, plan.expert_tensor or 1
    count, width = (gcd(*(getattr(o, name) for o in operators)) for name in ("experts", "units"))
    if not operators:
        if expert * tensor > 1:
            key = "expert" if expert > 1 else "expert_tensor"
            yield f"plan.{key}: {workload.model.name} has no experts."
        return
    if count % expert:
        yield (
            f"plan.expert: {expert} does not divide the {count} experts of {workload.model.name}."
            f"{nearest_divisors(expert, count)}"
        )
    if width % tensor:
        yield (
            f"plan.expert_tensor: {tensor} does not divide the {width} columns of an expert."
            f"{nearest_divisors(tensor, width)}"
        )
    yield from _expert_devices(plan)


def _expert_devices(plan: Fixed) -> Iterator[str]:
    """Experts fold over the devices of the tensor, context and data axis."""
    if plan.tensor is None:
        return
    expert, tensor = plan.expert or 1, plan.expert_tensor or 1
    if plan.expert_tensor is not None and tensor not in (1, plan.tensor):
        yield f"plan.expert_tensor: {tensor} is neither 1 nor plan.tensor ({plan.tensor})."
    apart = expert > 1 or (plan.expert_tensor is not None and tensor != plan.tensor)
    if plan.tensor > 1 and apart and plan.sequence_parallel is False:
        yield (
            "plan.sequence_parallel: must be true where plan.tensor is above 1 and experts are "
            "divided otherwise; else every member would send the same tokens."
        )
    if plan.data is None or plan.context is None:
        return
    among = plan.tensor * plan.context * plan.data
    if among % (expert * tensor):
        yield (
            f"plan.expert: plan.expert x plan.expert_tensor = {expert * tensor} does not divide "
            f"the {among} devices of plan.tensor x plan.context x plan.data."
            f"{nearest_divisors(expert * tensor, among)}"
        )


def _shards(workload: Workload, plan: Fixed) -> Iterator[str]:
    """Devices that share one copy divide the replicas."""
    if not plan.shard or plan.data is None or plan.context is None:
        return
    replicas = plan.data * plan.context
    if replicas % plan.shard or plan.shard == 1:
        yield (
            f"plan.shard: {plan.shard} devices cannot share one copy among {replicas} replicas "
            f"(plan.data x plan.context).{nearest_divisors(plan.shard, replicas)}"
        )
    if workload.model.experts and None not in (plan.tensor, plan.expert, plan.expert_tensor):
        # A shard divides the devices that hold the same experts, or they divide it.
        among = (plan.tensor or 1) * replicas
        same = among // ((plan.expert or 1) * (plan.expert_tensor or 1))
        if same and plan.shard % same and same % plan.shard:
            yield (
                f"plan.shard: {plan.shard} devices cannot share one copy among the {same} that "
                f"hold the same experts.{nearest_divisors(plan.shard, same)}"
            )


def _recomputed(workload: Workload, plan: Fixed) -> Iterator[str]:
    """A number of layers is one of full recomputation, and at most all of them."""
    layers = workload.model.cuttable_layers
    if plan.recompute_layers and plan.recompute_layers > layers:
        yield (
            f"plan.recompute_layers: {workload.model.name} has {layers} layers, fewer than "
            f"{plan.recompute_layers}. Leave it out for all."
        )
    if plan.recompute_layers and plan.recompute in (Recompute.NONE, Recompute.SELECTIVE):
        yield "plan.recompute_layers: counts layers of plan.recompute = 'full' only."


def _offloaded(workload: Workload, plan: Fixed) -> Iterator[str]:
    """A number of layers is one of offloaded activations, and at most all of them."""
    layers = workload.model.cuttable_layers
    if plan.offload_layers and plan.offload_layers > layers:
        yield (
            f"plan.offload_layers: {workload.model.name} has {layers} layers, fewer than "
            f"{plan.offload_layers}. Leave it out for all."
        )
    if plan.offload_layers and plan.offload in (Offload.NONE, Offload.OPTIMIZER):
        yield "plan.offload_layers: counts layers of plan.offload = 'activations' or 'both' only."


def _stages(workload: Workload, plan: Fixed) -> Iterator[str]:
    """The layers can be cut into that many chunks, as equal as `cut` wants them."""
    layers = workload.model.cuttable_layers
    chunks = (plan.pipeline or 1) * (plan.interleaving or 1)
    loosest: tuple[Cut, ...] = ("balanced", "counted")
    cut = plan.cut or loosest[0]
    known = plan.pipeline is not None and plan.interleaving is not None
    ways = (plan.cut,) if plan.cut else loosest
    if any(cuts_into(it, layers, pipeline=plan.pipeline or 1, chunks=chunks) for it in ways):
        return
    if cut in ("counted", "remainder"):
        if known:
            why = (
                f"the {plan.pipeline} stages divide the {layers} layers of {workload.model.name}"
                if layers % (plan.pipeline or 1) == 0
                else f"the last of {chunks} chunks of the {layers} layers would have none"
            )
            yield f"plan.cut: {cut!r} cuts nothing here: {why}. Leave it out."
    elif isinstance(cut, tuple):
        if known:
            yield (
                f"plan.cut: {len(cut)} numbers that add up to {sum(cut)}; {chunks} chunks of "
                f"the {layers} layers of {workload.model.name} are wanted."
            )
    elif cut == "balanced" or plan.pipeline is None or layers % plan.pipeline == 0:
        key = "interleaving" if (plan.interleaving or 1) > 1 else "pipeline"
        stages = f"{plan.pipeline} stages x " if plan.pipeline and key == "interleaving" else ""
        yield (
            f"plan.{key}: {stages}{getattr(plan, key)} "
            f"{'chunks' if key == 'interleaving' else 'stages'} do not divide the {layers} "
            f"layers of {workload.model.name}."
            f"{nearest_divisors(getattr(plan, key), layers // (chunks // getattr(plan, key)))}"
        )
    else:
        yield (
            f"plan.pipeline: {plan.pipeline} stages do not divide the {layers} layers of "
            f"{workload.model.name}.{nearest_divisors(plan.pipeline, layers)}"
            f"{' Or write plan.cut = ' + repr('balanced') + '.' if chunks <= layers else ''}"
        )


def _interleaving(workload: Workload, plan: Fixed) -> Iterator[str]:
    """An interleaved schedule has a pipeline and fills it in whole rounds."""
    if plan.interleaving in (None, 1) or plan.pipeline is None:
        return
    if plan.pipeline == 1:
        yield f"plan.interleaving: {plan.interleaving} chunks need plan.pipeline of at least 2."
        return
    if plan.schedule:
        name = plan.schedule.name.lower()
        yield f"plan.interleaving: the schedule {name} has one chunk per stage."
    if plan.data is None or plan.micro_batch is None:
        return
    count = workload.micro_batches(plan.data, plan.micro_batch)
    if count.is_integer() and count % plan.pipeline:
        yield (
            f"plan.interleaving: {count:.0f} micro-batches (workload.global_batch / (plan.data x "
            f"plan.micro_batch)) are no multiple of the {plan.pipeline} stages, as an interleaved "
            "schedule needs."
        )


def nearest_divisors(value: int, number: int) -> str:
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
    _grid,
    _channels,
    _split,
    _exchange,
    _experts,
    _shards,
    _recomputed,
    _offloaded,
    _stages,
    _interleaving,
)
