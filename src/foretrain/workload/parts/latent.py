"""Multi-head latent attention: keys and values are expanded from one narrow vector per token.

Selective recomputation keeps the narrow vectors and expands them again.

Sources: deepseek2024, section 2.1; deepseek2024v3, section 3.2.3 (recomputation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.workload.operator import NOTHING, Operator, Size, Split
from foretrain.workload.parts.attention import HEADS, Core, core
from foretrain.workload.parts.stream import Division, HiddenStates, at_least, linear, norm


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
    tokens, heads = stream.tokens, Division(split=Split.DEPTH, units=shape.heads, unit=HEADS)
    if shape.query_rank is None:
        alone = _up("query", shape, stream, features=(stream.hidden, shape.query))
        queries = [replace(alone, kept=NOTHING)]
    else:
        queries = [
            replace(_down("query down", stream, shape.query_rank), kept=NOTHING),
            _narrow_norm("query norm", stream, shape.query_rank),
            _up("query up", shape, stream, features=(shape.query_rank, shape.query)),
        ]
    expanded = (shape.key_rank, shape.heads * (shape.plain + shape.value))
    between = Core(
        queries=tokens,
        keys=tokens,
        heads=shape.heads,
        kv_heads=shape.heads,
        key_width=shape.key,
        value_width=shape.value,
        pairs=tokens * tokens / 2,
        dropout=stream.dropout,
    )
    output = linear(
        "attention output", tokens, (shape.output, stream.hidden), bias=False, division=heads
    )
    return (
        *queries,
        # The position's part leaves the narrow vector before its norm. It keeps the queries' input.
        _down("key-value down", stream, shape.key_rank + shape.rotary),
        _narrow_norm("key-value norm", stream, shape.key_rank),
        _up("key-value up", shape, stream, features=expanded),
        _kept_heads(shape, tokens),
        *core(between),
        # The product after the core needs its output in the backward pass too.
        replace(output, shared_input=True),
    )


def _kept_heads(shape: Latent, tokens: int) -> Operator:
    """Queries, keys and values, which any attention core keeps; a part of them is rotated."""
    both = tokens * (shape.query + shape.output)
    return Operator(
        name="queries, keys, values",
        forward=Size(values=4 * tokens * shape.query),
        backward=Size(values=4 * tokens * shape.query),
        kept=Size(values=both + tokens * shape.query),
        split=Split.HEADS,
        units=shape.heads,
        unit=HEADS,
        selective=True,
        dropped=True,
        keys=both,
        queries=both,
    )


def _down(name: str, stream: HiddenStates, width: int) -> Operator:
    """A product to a narrow vector, which every member of the tensor axis has whole."""
    repeated = Division(split=Split.NONE)
    product = linear(name, stream.tokens, (stream.hidden, width), bias=False, division=repeated)
    return replace(product, sequence=True)


def _narrow_norm(name: str, stream: HiddenStates, width: int) -> Operator:
    """A norm of a narrow vector, whose output selective recomputation does not keep."""
    return replace(norm(name, replace(stream, hidden=width)), selective=True)


def _up(name: str, shape: Latent, stream: HiddenStates, *, features: tuple[int, int]) -> Operator:
    """A product from a narrow vector to all heads, which the members share."""
    division = Division(split=Split.COLUMNS, units=shape.heads, unit=HEADS)
    product = linear(name, stream.tokens, features, bias=False, division=division)
    return replace(product, selective=True, dropped=True)
