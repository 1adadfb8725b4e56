"""Keys of a study: their short forms, those that are not priced yet, and how values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.errors import InputError
from foretrain.files.problems import Problems
from foretrain.units import as_written

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
    "plan": {
        "split": NotYet("spatial splits"),
        "grid": NotYet("spatial splits"),
    },
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
    if not isinstance(value, Mapping):
        problems.add(path, f"{as_written(value)} is not a table of keys and values.")
        return {}
    found: dict[str, object] = {}
    for key, item in value.items():
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
