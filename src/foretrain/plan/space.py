"""Spaces: which plans a search looks at."""

from __future__ import annotations

from dataclasses import dataclass, fields

from foretrain.errors import InputError
from foretrain.plan.plan import (
    ContextExchange,
    Cut,
    Offload,
    Order,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.workload.operator import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Choices per field of a plan; None leaves a field free.

    A tuple of one fixes a field. What the training software or the host decides is fixed unless a
    study frees it by listing choices: `schedule`, `sends`, `cut`, `offload`, `reshard` and
    `recompute_layers`.
    """

    data: tuple[int, ...] | None = None
    tensor: tuple[int, ...] | None = None
    context: tuple[int, ...] | None = None
    pipeline: tuple[int, ...] | None = None
    expert: tuple[int, ...] | None = None
    expert_tensor: tuple[int, ...] | None = None
    interleaving: tuple[int, ...] | None = None
    micro_batch: tuple[int, ...] | None = None
    sequence_parallel: tuple[bool, ...] | None = None
    exchange: tuple[ContextExchange, ...] | None = None
    sharding: tuple[Sharding, ...] | None = None
    shard: tuple[int, ...] | None = None
    reshard: tuple[bool, ...] = (True,)
    recompute: tuple[Recompute, ...] | None = None
    recompute_layers: tuple[int, ...] = (0,)
    offload: tuple[Offload, ...] = (Offload.NONE,)
    attention: tuple[Attention, ...] | None = None
    schedule: tuple[Schedule, ...] = (Schedule.ONE_F_ONE_B,)
    sends: tuple[Sends, ...] = (Sends.OVERLAPPED,)
    cut: tuple[Cut, ...] = ("even",)
    order: tuple[Order, ...] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            choices = getattr(self, field.name)
            if choices is not None and not (isinstance(choices, tuple) and choices):
                raise InputError(
                    f"Space.{field.name} must be a tuple of choices, such as (8,), or None for a "
                    f"free field, got {choices!r}."
                )


FIXED = {field.name: field.default for field in fields(Space) if isinstance(field.default, tuple)}
"""Fields that a search leaves alone unless a study frees them, and their choices."""
