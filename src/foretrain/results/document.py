"""Documents: a result as JSON, the contract between foretrain and other programs.

Seconds, bytes, FLOP, dollars, joules; ratios are fractions. Keys stand in the order of the result's
fields, so that the same answer is the same text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from hashlib import sha256
from math import isfinite

from foretrain.results.provenance import Provenance

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]


def document(verb: str, result: object, provenance: Provenance) -> dict[str, Plain]:
    """The JSON document of a verb's answer."""
    answer = plain(result)
    assert isinstance(answer, dict), f"the result of {verb} is not a record"
    return {
        "schema": f"foretrain/{verb}/1",
        "foretrain": provenance.version,
        "inputs": provenance.inputs,
        "coefficients": provenance.coefficients,
        **answer,
    }


def fingerprint(*nouns: object) -> str:
    """The sha256 of what the nouns say: equal questions have equal fingerprints."""
    text = json.dumps(plain(nouns), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def plain(value: object) -> Plain:
    """A value as JSON knows it: enums in lower case, sets in order; nothing infinite or private."""
    if isinstance(value, Enum):
        return value.value if isinstance(value, StrEnum) else value.name.lower()
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _collection(value)


def _collection(value: object) -> Plain:
    if is_dataclass(value):
        # What a noun does not show of itself (a function, a cache) is nothing that it says.
        told = (each.name for each in fields(value) if each.repr and each.name[0] != "_")
        return {name: plain(getattr(value, name)) for name in told}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return [plain(item) for item in sorted(value)]
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place in a document: {value!r}")
