"""Multi-head latent attention: keys and values are expanded from one narrow vector per token.

Selective recomputation keeps the narrow vectors and expands them again.

Sources: deepseek2024, section 2.1; deepseek2024v3, section 3.2.3 (recomputation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.workload.operator import NOTHING, Operator, OperatorKind, Size, Split
from foretrain.workload.parts.attention import Core, core
from foretrain.workload.parts.stream import Division, HiddenStates, at_least, linear, norm

_REPEATED = Division(split=Split.NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """The shape of multi-head latent attention.

    Attributes:
        heads: attention heads.
        query_rank: width of the vector that queries are expanded from; None without one.
        key_rank: width of the vector that keys and values are expanded from.
        plain: width of a head's query and key without position.
        rotary: width of the part that carries the position; the key's is shared by all heads.
        value: width of a head's value.
    """

    heads: int
    query_rank: int | None
    key_rank: int
    plain: int
    rotary: int
    value: int

    def __post_init__(self) -> None:
        at_least(self, 1, "heads", "key_rank", "plain", "rotary", "value")
        if self.query_rank is not None:
            at_least(self, 1, "query_rank")

    @property
    def key(self) -> int:
        """Width of one query or key."""
        return self.plain + self.rotary

    @property
    def query(self) -> int:
        """Width of all queries together."""
        return self.heads * self.key

    @property
    def output(self) -> int:
        """Width of all values together."""
        return self.heads * self.value


def latent_attention(shape: Latent, stream: HiddenStates) -> tuple[Operator, ...]:
    """From the norm (without it) to the residual (without it), expanded as in training."""
    # Queries, keys and values, which any attention core keeps; a part of them is rotated.
    both = stream.tokens * (shape.query + shape.output)
    kept_heads = Operator(
        name="queries, keys, values",
        kind=OperatorKind.MEMORY,
        forward=Size(values=4 * stream.tokens * shape.query),
        backward=Size(values=4 * stream.tokens * shape.query),
        kept=Size(values=both + stream.tokens * shape.query),
        split=Split.HEADS,
        units=shape.heads,
        unit="attention heads",
        selective=True,
        dropped=True,
        keys=both,
        queries=both,
    )
    return (
        *_queries(shape, stream),
        *_keys(shape, stream),
        kept_heads,
        *core(_core(shape, stream)),
        _output(shape, stream),
    )


def _output(shape: Latent, stream: HiddenStates) -> Operator:
    """The product after the core, whose backward pass needs its output too."""
    product = linear(
        "attention output",
        stream.tokens,
        (shape.output, stream.hidden),
        bias=False,
        division=_heads(shape, Split.DEPTH),
    )
    return replace(product, shared_input=True)


def _heads(shape: Latent, split: Split) -> Division:
    return Division(split=split, units=shape.heads, unit="attention heads")


def _down(name: str, stream: HiddenStates, width: int) -> Operator:
    """A product to a narrow vector, which every member of the tensor axis has whole."""
    product = linear(name, stream.tokens, (stream.hidden, width), bias=False, division=_REPEATED)
    return replace(product, sequence=True)


def _narrow_norm(name: str, stream: HiddenStates, width: int) -> Operator:
    """A norm of a narrow vector, whose output selective recomputation does not keep."""
    return replace(norm(name, replace(stream, hidden=width)), selective=True)


def _up(name: str, shape: Latent, stream: HiddenStates, *, features: tuple[int, int]) -> Operator:
    """A product from a narrow vector to all heads, which the members share."""
    division = _heads(shape, Split.COLUMNS)
    product = linear(name, stream.tokens, features, bias=False, division=division)
    return replace(product, selective=True, dropped=True)


def _queries(shape: Latent, stream: HiddenStates) -> tuple[Operator, ...]:
    if shape.query_rank is None:
        query = _up("query", shape, stream, features=(stream.hidden, shape.query))
        return (replace(query, kept=NOTHING),)
    return (
        replace(_down("query down", stream, shape.query_rank), kept=NOTHING),
        _narrow_norm("query norm", stream, shape.query_rank),
        _up("query up", shape, stream, features=(shape.query_rank, shape.query)),
    )


def _keys(shape: Latent, stream: HiddenStates) -> tuple[Operator, ...]:
    """The position's part leaves the narrow vector before its norm. It keeps the queries' input."""
    expanded = (shape.key_rank, shape.heads * (shape.plain + shape.value))
    return (
        _down("key-value down", stream, shape.key_rank + shape.rotary),
        _narrow_norm("key-value norm", stream, shape.key_rank),
        _up("key-value up", shape, stream, features=expanded),
    )


def _core(shape: Latent, stream: HiddenStates) -> Core:
    return Core(
        queries=stream.tokens,
        keys=stream.tokens,
        heads=shape.heads,
        kv_heads=shape.heads,
        key_width=shape.key,
        value_width=shape.value,
        pairs=stream.tokens * stream.tokens / 2,
        dropout=stream.dropout,
    )
