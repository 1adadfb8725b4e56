"""Plans: how a training is run. A plan never changes the weights (rounding order aside)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from itertools import groupby
from math import prod
from typing import Final, Literal, get_args

from foretrain.errors import InputError
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention

Order = tuple[str, str, str, str]
AXES = ("tensor", "context", "data", "pipeline")
"""Axes that together use every device once; experts fold over the devices of the first three."""

COUNTS = (
    "data",
    "tensor",
    "context",
    "pipeline",
    "expert",
    "expert_tensor",
    "interleaving",
    "micro_batch",
)
"""Fields that count something, and are at least 1."""


class ContextExchange(IntEnum):
    """How members of the context axis let every query meet every key."""

    RING = 0
    """Keys and values go round, block by block, beside the attention of the block before."""
    ALL_TO_ALL = 1
    """Tokens are exchanged for heads before attention, and back after it."""
    ALL_GATHER = 2
    """Keys and values of all are gathered before attention, which waits for them."""


class ChannelSplit(IntEnum):
    """Which channels of a convolution the tensor axis divides."""

    FILTER = 0
    """Those of its result: each member has some of the filters."""
    CHANNEL = 1
    """Those of its input: each member has a slice of every filter."""


Grid = tuple[int, ...]
"""Devices along each dimension of a sample (height, width, depth); empty where none is divided."""


class Sharding(IntEnum):
    """What the replicas divide among themselves (ZeRO 0 to 3); each includes those before it."""

    NONE = 0
    OPTIMIZER = 1
    GRADIENTS = 2
    PARAMETERS = 3


class Recompute(IntEnum):
    """Which activations are dropped in the forward pass and computed again in the backward pass."""

    NONE = 0
    SELECTIVE = 1
    FULL = 2


class Offload(IntEnum):
    """What waits in the memory of the host."""

    NONE = 0
    OPTIMIZER = 1
    ACTIVATIONS = 2
    BOTH = 3


class Schedule(IntEnum):
    """In which order stages work through micro-batches.

    Attributes:
        label: what the field calls it; studies write it in lower case.
        short: the same in tables.
        interleaves: whether a stage may have several chunks.
        delays: whether gradients of weights are computed in passes of their own.
        reverses: whether backward passes come in the reverse order of forward passes.
    """

    label: str
    short: str
    interleaves: bool
    delays: bool
    reverses: bool

    def __new__(cls, value: int, label: str = "", short: str = "", *what: str) -> Schedule:
        """A number that carries what is known of it."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.label, member.short = label, short
        member.interleaves, member.delays, member.reverses = (
            word in what for word in ("interleaves", "delays", "reverses")
        )
        return member

    ONE_F_ONE_B = 0, "1F1B", "1f1b", "interleaves"
    """A forward and a backward pass alternate; with several chunks per stage, interleaved."""
    GPIPE = 1, "GPipe", "gpipe", "reverses"
    """All forward passes, then all backward passes."""
    ZERO_BUBBLE = 2, "zero bubble", "zb", "delays"
    """1F1B whose gradients of weights wait and fill the bubble (ZB-H1)."""

    @property
    def word(self) -> str:
        """What studies call it."""
        return self.label.lower().replace(" ", "_")


class Sends(IntEnum):
    """Whether a pipeline stage computes while it sends to its neighbour."""

    OVERLAPPED = 0
    BLOCKING = 1


NamedCut = Literal["even", "counted", "remainder", "balanced"]
Cut = NamedCut | tuple[int, ...]
CUTS: Final[tuple[NamedCut, ...]] = get_args(NamedCut)

AS_MADE: Final[tuple[Cut, ...]] = ("even", "counted", "remainder")
"""Cuts that trainers make of a number of chunks: even ones, and two for layers that do not divide.
"""
"""How layers are spread over stages: evenly, so that the slowest stage is as quick as can be, or
as many as listed, chunk by chunk in the model's order."""


class GroupedBy(StrEnum):
    """What of a plan lies on devices of one kind as a whole."""

    REPLICA = "replica"
    STAGE = "stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """How two kinds of devices share a plan.

    Attributes:
        by: what lies on one kind as a whole.
        places: which cluster of the two has the first replicas or stages, and which the rest.
        micro_batches: per step and replica, of each of them; equal by stage.
    """

    by: GroupedBy
    places: tuple[int, int]
    micro_batches: tuple[int, int]

    def __str__(self) -> str:
        """Its words in a plan's canonical text."""
        first, second = self.micro_batches
        one, two = self.places
        return f"by {self.by} on {one} and {two}, {first} and {second} micro-batches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to run a workload on a cluster. `PlanTable` has a column of the same name for each.

    Attributes:
        data: degree of the data axis (replicas).
        tensor: degree of the tensor axis (members that share each operator).
        context: degree of the context axis (members that share the tokens of a sample).
        pipeline: degree of the pipeline axis (stages).
        expert: degree of the expert axis (members that share the experts of a layer).
        expert_tensor: members that share each expert.
        interleaving: model chunks per stage.
        micro_batch: samples that one replica passes through the model at once.
        sequence_parallel: whether the tensor axis also divides tokens where it divides nothing
            else.
        exchange: how the context axis exchanges.
        grid: members of the context axis along each dimension of a picture that they share
            (spatial parallelism); empty where they share tokens.
        convolutions: which channels of a convolution the tensor axis divides.
        split: layers of the network's front in which the grid divides pictures and the tensor
            axis convolutions; 0 for all that can be.
        sharding: what replicas divide.
        shard: devices that share one copy of it, neighbours; 0 for all of data x context.
        reshard: whether gathered parameters are dropped after a forward pass and gathered again.
        recompute: which activations are computed twice.
        recompute_layers: layers of the model that full recomputation covers, spread evenly over
            the stages; 0 for all.
        offload: what waits in the host's memory.
        offload_layers: layers of the model whose activations wait there, spread evenly over the
            stages; 0 for all.
        attention: kernel of the attention core.
        schedule: order of micro-batches.
        sends: whether stages compute while they send.
        cut: how layers are spread over stages.
        order: axes from innermost (neighbouring devices) to outermost.
        groups: how two kinds of devices share the plan; None where all are of one kind.
    """

    data: int = 1
    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    expert: int = 1
    expert_tensor: int = 1
    interleaving: int = 1
    micro_batch: int = 1
    sequence_parallel: bool = False
    exchange: ContextExchange = ContextExchange.RING
    grid: Grid = field(default=(), metadata={"if_set": True})
    convolutions: ChannelSplit = field(default=ChannelSplit.FILTER, metadata={"if_set": True})
    split: int = field(default=0, metadata={"if_set": True})
    sharding: Sharding = Sharding.NONE
    shard: int = 0
    reshard: bool = True
    recompute: Recompute = Recompute.NONE
    recompute_layers: int = 0
    offload: Offload = Offload.NONE
    offload_layers: int = 0
    attention: Attention = Attention.FLASH
    schedule: Schedule = Schedule.ONE_F_ONE_B
    sends: Sends = Sends.OVERLAPPED
    cut: Cut = "even"
    order: Order = AXES
    groups: Groups | None = field(default=None, metadata={"if_set": True})

    def __post_init__(self) -> None:
        for name in COUNTS:
            if not getattr(self, name) >= 1:
                raise InputError(f"Plan.{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("shard", "recompute_layers", "offload_layers", "split"):
            if not getattr(self, name) >= 0:
                raise InputError(f"Plan.{name} must be at least 0, got {getattr(self, name)}.")
        if self.grid and (min(self.grid) < 1 or prod(self.grid) != self.context):
            raise InputError(
                f"Plan.grid must share its {self.context} devices (Plan.context) among the "
                f"dimensions of a sample, got {' x '.join(map(str, self.grid))}."
            )
        if len(self.order) != len(AXES) or set(self.order) != set(AXES):
            raise InputError(
                f"Plan.order must name {', '.join(AXES)} once each, got {', '.join(self.order)}."
            )
        if isinstance(self.cut, tuple) and not lists_chunks(self.cut):
            raise InputError(
                f"Plan.cut must list at least 1 layer per chunk, of which the first and the last "
                f"of several may have none, got {self.cut}."
            )

    @property
    def devices(self) -> int:
        """Devices that the plan uses."""
        return self.data * self.tensor * self.context * self.pipeline

    def __str__(self) -> str:
        """The canonical text, which also breaks ties in a ranking."""
        groups = () if self.groups is None else (str(self.groups),)
        return ", ".join([*self._degrees(), *self._policies(), *groups])

    def _degrees(self) -> list[str]:
        """How many devices each axis has."""
        shared = f"cp{self.context}{('', 'a2a', 'ag')[self.exchange]}"
        if self.grid:
            shared = f"grid{'x'.join(map(str, self.grid))}"
        channels = "ch" * (self.tensor > 1 and self.convolutions is ChannelSplit.CHANNEL)
        experts = f"etp{self.expert_tensor}" if self.expert_tensor > 1 else ""
        return [
            f"tp{self.tensor}{channels}"
            f"{'+sp' if self.sequence_parallel and self.tensor > 1 else ''}",
            *([shared] if self.context > 1 else []),
            f"pp{self.pipeline}{f'x{self.interleaving}' if self.interleaving > 1 else ''}",
            f"dp{self.data}",
            *([f"ep{self.expert}{experts}"] if self.expert > 1 or experts else []),
            f"mbs{self.micro_batch}",
            *([f"split {self.split}"] if self.split else []),
        ]

    def _policies(self) -> list[str]:
        """Recomputation, and whatever differs from the neutral plan."""
        layers = f" of {self.recompute_layers} layers" if self.recompute_layers else ""
        parts = [f"recompute {self.recompute.name.lower()}{layers}"]
        if self.sharding is not Sharding.NONE:
            among = f" among {self.shard}" if self.shard else ""
            kept = "" if self.reshard else ", kept"
            parts.append(f"sharded {self.sharding.name.lower()}{among}{kept}")
        if self.offload is not Offload.NONE:
            some = f" of {self.offload_layers} layers" if self.offload_layers else ""
            parts.append(f"offload {self.offload.name.lower()}{some}")
        if self.attention is not Attention.FLASH:
            parts.append(f"{self.attention.name.lower()} attention")
        if self.schedule is not Schedule.ONE_F_ONE_B:
            parts.append(self.schedule.label.lower())
        if self.sends is not Sends.OVERLAPPED:
            parts.append(f"{self.sends.name.lower()} sends")
        if self.cut != "even":
            parts.append(f"cut {self.cut if isinstance(self.cut, str) else _folded(self.cut)}")
        if self.order != AXES:
            parts.append("order " + ">".join(self.order))
        return parts


SAID = tuple(each.name for each in fields(Plan) if each.name != "groups")
"""Fields that a study can fix; groups follow from its clusters."""


def _folded(cut: tuple[int, ...]) -> str:
    """Layers of each chunk, equal neighbours written once: 1-62x2-1."""
    runs = [(layers, len(list(run))) for layers, run in groupby(cut)]
    return "-".join(f"{count}x{layers}" if count > 1 else f"{layers}" for layers, count in runs)


def lists_chunks(cut: tuple[int, ...]) -> bool:
    """Whether numbers can be layers of chunks: of four at least the first may have none."""
    if len(cut) < 2:
        return cut >= (1,)
    first = 0 if len(cut) >= 4 else 1
    return cut[0] >= first and min(cut[1:-1], default=1) >= 1 and cut[-1] >= 0


def cuts_into(cut: Cut, layers: int, *, pipeline: int, chunks: int) -> bool:
    """Whether layers can be cut into so many chunks of all stages in that way."""
    if cut == "balanced":
        return chunks <= layers
    if isinstance(cut, tuple):
        ends = min(cut[0], cut[-1]) > 0 or chunks > pipeline
        return len(cut) == chunks and sum(cut) == layers and ends
    return cut_into(cut, layers, pipeline=pipeline, chunks=chunks) is not None


def most_chunks(cuts: Iterable[Cut], layers: int, *, pipeline: int) -> int:
    """The most chunks that a stage may have by any of some cuts: of a layer, or what is counted."""
    return (layers + 2 * ("counted" in cuts)) // pipeline


def cut_into(cut: NamedCut, layers: int, *, pipeline: int, chunks: int) -> tuple[int, ...] | None:
    """Layers of every chunk by a rule that asks for no times; None if they cannot be cut so.

    Where stages divide the layers, all chunks are alike. Where they do not, every chunk has as many
    as the fullest one and the last has what remains; or an embedding before them and a head behind
    them are counted too, and the first and the last chunk have that much less. With interleaving
    the first chunk may be an embedding alone, the last a head.

    Source: megatron-core 0.9 (decoder-last-pipeline-num-layers), 0.11 (account_for_embedding and
    account_for_loss in pipeline_split), 0.13 (layouts such as "Et*4|(t*4|)*14tmL" for 61 layers,
    "Et|(tt|)*30mL"); torchtitan 0.3
    (pipeline_parallel_first_stage_less_layers, and that of the last).
    """
    if cut == "even" or chunks == 1:
        return None if layers % chunks else (layers // chunks,) * chunks
    ends = int(cut == "counted")
    if chunks > layers + 2 * ends:
        return None  # however many: they are not listed
    most = -(-(layers + 2 * ends) // chunks)
    sizes = (most - ends, *[most] * (chunks - 2))
    left = layers - sum(sizes)
    least = int(chunks == pipeline or not ends)
    some = min(sizes[0], left) >= least
    # Of two chunks both rules make the same. More chunks only where they make no stage fuller than
    # it must be, by more than one layer: others are slower than fewer chunks.
    other = layers % pipeline > 0 and (chunks > 2 or not ends)
    lean = most * (chunks // pipeline) <= -(-(layers + 2 * ends) // pipeline) + 1
    return (*sizes, left) if some and other and lean else None


def idle(plan: Plan, model: Model) -> dict[str, str]:
    """Fields that change nothing about this plan whatever they say, each with the reason."""
    stages = "plan.pipeline = 1" if plan.pipeline == 1 else ""
    above = sum(getattr(plan, axis) > 1 for axis in AXES)
    holders = plan.tensor // (plan.expert * plan.expert_tensor) if model.experts else 1
    whole = "" if model.experts else f"{model.name}, which has no experts"
    sharded = f"plan.sharding = {plan.sharding.name.lower()}"
    convolved = any(operator.filters for _, operator in model.operators)
    unconvolved = "" if convolved else f"{model.name}, which has no convolutions"
    undivided = "" if plan.grid or (plan.tensor > 1 and convolved) else "no divided pictures"
    shared = "pixels that are shared, not tokens" if plan.grid else ""
    fields = {
        "sequence_parallel": "plan.tensor = 1" if plan.tensor == 1 else "",
        "exchange": "plan.context = 1" if plan.context == 1 else shared,
        "convolutions": "plan.tensor = 1" if plan.tensor == 1 else unconvolved,
        "split": undivided,
        "grid": "" if plan.grid else "no pictures that are shared",
        "expert": whole,
        "expert_tensor": whole,
        "interleaving": stages,
        "schedule": stages,
        "sends": stages,
        "cut": stages,
        "attention": "" if model.kernels else f"{model.name}, which has no attention",
        "sharding": "one replica" if plan.data * plan.context == 1 and holders <= 1 else "",
        "shard": sharded if plan.sharding is Sharding.NONE else "",
        "reshard": sharded if plan.sharding is not Sharding.PARAMETERS else "",
        "order": "fewer than two axes above 1" if above < 2 else "",
    }
    return {name: why for name, why in fields.items() if why}
