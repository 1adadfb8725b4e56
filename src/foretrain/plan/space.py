"""Spaces: which plans a search looks at."""

from __future__ import annotations

from dataclasses import dataclass, fields

from foretrain.errors import InputError
from foretrain.plan.plan import Order, Recompute, Sends, Sharding
from foretrain.workload.operator import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Choices per field of a plan; None leaves a field free.

    A tuple of one fixes a field. `sends` says what the software does, and blocking ones never help:
    it is fixed unless a study frees it.
    """

    data: tuple[int, ...] | None = None
    tensor: tuple[int, ...] | None = None
    pipeline: tuple[int, ...] | None = None
    interleaving: tuple[int, ...] | None = None
    micro_batch: tuple[int, ...] | None = None
    sequence_parallel: tuple[bool, ...] | None = None
    sharding: tuple[Sharding, ...] | None = None
    recompute: tuple[Recompute, ...] | None = None
    attention: tuple[Attention, ...] | None = None
    sends: tuple[Sends, ...] = (Sends.OVERLAPPED,)
    order: tuple[Order, ...] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            choices = getattr(self, field.name)
            if choices is not None and not (isinstance(choices, tuple) and choices):
                raise InputError(
                    f"Space.{field.name} must be a tuple of choices, such as (8,), or None for a "
                    f"free field, got {choices!r}."
                )
