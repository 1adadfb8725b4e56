"""Words: values that stand for one thing, as studies call it and as other software does.

No word is guessed: one that could mean two things, or that says more than the value that it would
stand for, is refused with what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, Final, TypeVar

from foretrain.errors import InputError, nearest
from foretrain.plan.plan import Schedule, Sharding
from foretrain.units import as_written
from foretrain.workload.workload import Optimizer, Precision

Member = TypeVar("Member", bound=Enum)

SAME: Final[Mapping[type, Mapping[Any, tuple[str, ...]]]] = {
    # ZeRO of DeepSpeed, FSDP of PyTorch by its strategies, Megatron-FSDP by its option.
    Sharding: {
        Sharding.NONE: ("zero0", "zero-0", "ddp", "no_shard"),
        Sharding.OPTIMIZER: ("zero1", "zero-1", "optim"),
        Sharding.GRADIENTS: ("zero2", "zero-2", "optim_grads"),
        Sharding.PARAMETERS: (
            *("zero3", "zero-3", "fsdp", "fsdp1", "fsdp2", "full_shard", "fully_shard"),
            "optim_grads_params",
        ),
    },
    # Types of PyTorch and JAX; Lightning's and Megatron Bridge's mixed precision.
    Precision: {
        Precision.FP32: ("float32", "torch.float32", "32-true"),
        Precision.FP16: ("float16", "torch.float16", "half", "fp16-mixed", "16-mixed"),
        Precision.BF16: ("bfloat16", "torch.bfloat16", "bf16-mixed"),
    },
    # TrainingArguments.optim of transformers 5.23.0; bitsandbytes.
    Optimizer: {
        Optimizer.ADAMW: ("adamw_torch", "adamw_torch_fused", "adamw_torch_xla"),
        Optimizer.ADAMW_8BIT: ("adamw_bnb_8bit", "adamw8bit"),
        Optimizer.LION: ("lion_32bit",),
    },
    Schedule: {Schedule.ONE_F_ONE_B: ("one_f_one_b",)},
}
"""What other software calls a value; capitals do not matter, and a hyphen is an underscore."""

_PURE: Final = (
    "Weights without a copy in fp32 are not priced; the nearest is '{}', which keeps one."
)
_HYBRID: Final = (
    "Replicas that share copies within groups are two keys: sharding = 'parameters' and shard ="
    " the devices that share one copy, such as those of a node."
)
_KEPT: Final = (
    "Parameters that stay gathered between the passes are two keys: sharding = 'parameters' and"
    " reshard = false."
)
_PAGED: Final = "State that moves to the host is two keys: the optimizer, and plan.offload."

NOT_THE_SAME: Final[Mapping[str, str]] = {
    **dict.fromkeys(("hsdp", "hybrid_shard", "_hybrid_shard_zero2", "mics"), _HYBRID),
    "shard_grad_op": _KEPT,  # reshard_after_forward = False in transformers 5.23.0
    **dict.fromkeys(
        ("dualpipe", "dualpipev", "chimera"),
        "Bidirectional schedules are not priced; the nearest is 'zero_bubble'.",
    ),
    **dict.fromkeys(("bf16-true", "bf16-pure"), _PURE.format("bf16")),
    **dict.fromkeys(("16-true", "fp16-true"), _PURE.format("fp16")),
    **dict.fromkeys(("paged_adamw_32bit", "paged_adamw_8bit", "paged_lion_32bit"), _PAGED),
}
"""Words that say more than one value does, and how a study says it."""


def spelled(word: str) -> str:
    """How words are compared."""
    return word.strip().lower().replace("_", "-")


def own(member: Enum) -> str:
    """What studies call a value."""
    if member is Schedule.ONE_F_ONE_B:
        return "1f1b"
    return member.value if isinstance(member, StrEnum) else member.name.lower()


def words_of(member: Member) -> tuple[str, ...]:
    """Everything that a value may be called, what studies call it first."""
    return own(member), *SAME.get(type(member), {}).get(member, ())


def known(kind: type[Member]) -> tuple[str, ...]:
    """What studies call the values of an enumeration."""
    return tuple(own(member) for member in kind)


def reader(kind: type[Member]) -> Callable[[object], Member]:
    """A function that reads one value of an enumeration."""
    meant = {spelled(word): each for each in kind for word in words_of(each)}
    more = {spelled(word): text for word, text in NOT_THE_SAME.items()}

    def read(value: object) -> Member:
        found = meant.get(spelled(value)) if isinstance(value, str) else None
        if found is None:
            words = known(kind)
            hint = more.get(spelled(str(value)))
            said = f" {hint}" if hint else nearest(str(value), words)
            raise InputError(f"unknown {as_written(value)}.{said} Known: {', '.join(words)}.")
        return found

    return read
