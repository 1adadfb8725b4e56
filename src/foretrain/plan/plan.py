"""Plans: how a training is run. A plan never changes the weights (rounding order aside)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from foretrain.errors import InputError
from foretrain.workload.operator import Attention

Order = tuple[str, str, str]
AXES = ("tensor", "data", "pipeline")


class Sharding(IntEnum):
    """What the members of the data axis divide among themselves (ZeRO 0 and 1)."""

    NONE = 0
    OPTIMIZER = 1


class Recompute(IntEnum):
    """Which activations are dropped in the forward pass and computed again in the backward pass."""

    NONE = 0
    SELECTIVE = 1
    FULL = 2


class Sends(IntEnum):
    """Whether a pipeline stage computes while it sends to its neighbour."""

    OVERLAPPED = 0
    BLOCKING = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to run a workload on a cluster. `PlanTable` has a column of the same name for each.

    Attributes:
        data: degree of the data axis (replicas).
        tensor: degree of the tensor axis (members that share each operator).
        pipeline: degree of the pipeline axis (stages).
        interleaving: model chunks per stage; 1 is the plain 1F1B schedule.
        micro_batch: samples that one replica passes through the model at once.
        sequence_parallel: whether the tensor axis also divides tokens where it divides nothing
            else.
        sharding: what the data axis divides.
        recompute: which activations are computed twice.
        attention: kernel of the attention core.
        sends: whether stages compute while they send.
        order: axes from innermost (neighbouring devices) to outermost.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    interleaving: int = 1
    micro_batch: int = 1
    sequence_parallel: bool = False
    sharding: Sharding = Sharding.NONE
    recompute: Recompute = Recompute.NONE
    attention: Attention = Attention.FLASH
    sends: Sends = Sends.OVERLAPPED
    order: Order = AXES

    def __post_init__(self) -> None:
        for name in ("data", "tensor", "pipeline", "interleaving", "micro_batch"):
            if not getattr(self, name) >= 1:
                raise InputError(f"Plan.{name} must be at least 1, got {getattr(self, name)}.")
        if len(self.order) != len(AXES) or set(self.order) != set(AXES):
            raise InputError(
                f"Plan.order must name {', '.join(AXES)} once each, got {', '.join(self.order)}."
            )

    @property
    def devices(self) -> int:
        """Devices that the plan uses."""
        return self.data * self.tensor * self.pipeline

    def __str__(self) -> str:
        """The canonical text, which also breaks ties in a ranking."""
        parts = [
            f"tp{self.tensor}{'+sp' if self.sequence_parallel and self.tensor > 1 else ''}",
            f"pp{self.pipeline}{f'x{self.interleaving}' if self.interleaving > 1 else ''}",
            f"dp{self.data}",
            f"mbs{self.micro_batch}",
            f"recompute {self.recompute.name.lower()}",
        ]
        if self.sharding is not Sharding.NONE:
            parts.append(f"sharded {self.sharding.name.lower()}")
        if self.attention is not Attention.FLASH:
            parts.append(f"{self.attention.name.lower()} attention")
        if self.sends is not Sends.OVERLAPPED:
            parts.append(f"{self.sends.name.lower()} sends")
        if self.order != AXES:
            parts.append("order " + ">".join(self.order))
        return ", ".join(parts)
