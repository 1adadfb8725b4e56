"""Words: values that stand for one thing, as studies call it and as other software does.

No word is guessed: one that could mean two things, or that says more than the value that it would
stand for, is refused with what to write.

Keys of a study: their short forms, those that are not priced yet, and how values are read.

Levels of a cluster as they are written: the key `nodes` fills those above the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Annotated, Any, Final, TypeVar

from foretrain.cluster.cluster import Cluster, spread
from foretrain.errors import InputError, nearest
from foretrain.plan.plan import Schedule, Sharding
from foretrain.study.problems import Problems
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
    if isinstance(member, Schedule):
        return member.word
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


LARGEST: Final = 10**9


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """Annotates a field of a document with the function that reads it.

    Attributes:
        read: returns the value or raises an InputError.
        schema: JSON Schema of what it reads.
    """

    read: Callable[[object], object]
    schema: Mapping[str, object]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> dict[str, object]:
        """Let pydantic call the function; an InputError becomes a problem of the field."""
        return {"type": "function-plain", "function": {"type": "no-info", "function": self.read}}

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, object]:
        """Describe the field of a document."""
        return dict(self.schema)


def count(value: object) -> int:
    """A whole number of at least 1.

    Raises:
        InputError: for anything else, such as "64" or true.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{as_written(value)} is not a whole number.")
    if not 1 <= value <= LARGEST:
        raise InputError(f"{as_written(value)} is not between 1 and {LARGEST}.")
    return value


def ratio(below: float) -> Reads:
    """A field that takes a number above 0 and below another."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < below:
            raise InputError(f"{as_written(value)} is not a number above 0.")
        return float(value)

    return Reads(read, {"type": "number", "exclusiveMinimum": 0})


COUNT: Final[Mapping[str, object]] = {"type": "integer", "minimum": 1, "maximum": LARGEST}
Count = Annotated[int, Reads(count, COUNT)]

SHORT_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "workload": {"gbs": "global_batch"},
    "plan": {
        "tp": "tensor",
        "pp": "pipeline",
        "dp": "data",
        "mbs": "micro_batch",
        "vpp": "interleaving",
        "sp": "sequence_parallel",
        "cp": "context",
        "ep": "expert",
        "etp": "expert_tensor",
    },
}


@dataclass(frozen=True, slots=True)
class NotYet:
    """A key that foretrain does not price yet.

    Attributes:
        what: what it is about, for the message.
        neutral: the value that asks for nothing, which is legal; None if there is none.
    """

    what: str
    neutral: str | int | None = None

    def allows(self, value: object) -> bool:
        """Whether a value asks for nothing; true is no 1."""
        return type(value) is type(self.neutral) and value == self.neutral


NOT_YET: Final[Mapping[str, Mapping[str, NotYet]]] = {
    "workload": {
        "updates": NotYet("updates that are not synchronous", "synchronous"),
        "workers": NotYet("updates that are not synchronous"),
        "batch_norm": NotYet("synchronised batch normalisation", "local"),
        "batch_per_device": NotYet("weak scaling (write global_batch)"),
    },
    "plan": {},
}


ELSEWHERE: Final[Mapping[str, Mapping[str, str]]] = {
    "plan": {
        "zero": "write sharding: 'optimizer' (ZeRO-1), 'gradients' (ZeRO-2), 'parameters' (ZeRO-3)",
        "groups": "write [cluster] groups = [{ name = ..., nodes = ... }, ...], one for each kind",
        "fsdp": "write sharding = 'parameters'",
    },
}
"""Keys of other software, and how a study says the same."""


def table(value: object, path: str, problems: Problems) -> dict[str, object]:
    """A section with full names as keys, without the keys that foretrain does not price yet.

    Of those, the neutral value is legal and says nothing; any other is refused.

    Args:
        value: what stands in the document.
        path: where.
        problems: takes keys that are refused.
    """
    found: dict[str, object] = {}
    for key, item in (problems.table(value, path) or {}).items():
        name = SHORT_FORMS.get(path, {}).get(key, key)
        if name in found:
            problems.add(f"{path}.{key}", f"{name} was written before; write it once.")
            continue
        if name in ELSEWHERE.get(path, {}):
            problems.add(f"{path}.{key}", f"unknown key; {ELSEWHERE[path][name]}.")
            continue
        not_yet = NOT_YET.get(path, {}).get(name)
        if not_yet is None:
            found[name] = item
        elif not not_yet.allows(item):
            why = f"foretrain does not price {not_yet.what} yet; leave it out."
            problems.add(f"{path}.{key}", why)
    return found


LevelDocument = Mapping[str, Any]


def alone() -> list[dict[str, Any]]:
    """The level of a device that has no other to reach: nothing crosses its link."""
    link = {"technology": "custom", "latency": "0 s", "bandwidth": "1 GB/s"}
    return [{"name": "node", "members": 1, "link": link}]


def with_nodes(levels: Sequence[LevelDocument], nodes: int) -> list[dict[str, Any]]:
    """The levels with so many nodes in all.

    A level above the node says with `members` how many groups it can connect; the outermost says
    nothing and connects what is left.

    Args:
        levels: as written, the outermost without members.
        nodes: of the whole cluster.

    Raises:
        InputError: the nodes cannot be spread evenly over the levels.
    """
    names = [level.get("name") for level in levels]
    node = names.index("node") if "node" in names else 0
    first = min(node + 1, len(levels) - 1)
    above = levels[first:]
    most = [level.get("members") for level in above[:-1]]
    if not all(type(size) is int and size > 0 for size in most):
        # The reader of the whole document will say what is wrong with them.
        return [*map(dict, levels[:-1]), {**levels[-1], "members": nodes}]
    members = spread(nodes, [size for size in most if size])
    filled = [{**level, "members": size} for level, size in zip(above, members, strict=True)]
    return [*map(dict, levels[:first]), *filled]


def resized(cluster: Cluster, levels: Sequence[LevelDocument]) -> Cluster:
    """A cluster with the members of its levels as a document with another number of nodes says."""
    pairs = zip(cluster.levels, levels, strict=True)
    return replace(
        cluster, levels=tuple(replace(level, members=said["members"]) for level, said in pairs)
    )
