"""Mixers of tokens beside multi-head attention.

Multi-head latent attention: keys and values are expanded from one narrow vector per token.

Selective recomputation keeps the narrow vectors and expands them again.

Sources: deepseek2024, section 2.1; deepseek2024v3, section 3.2.3 (recomputation).

State-space mixing of tokens: a Mamba-2 layer.

Source: dao2024, section 6 (state-space duality, in chunks) and section 7 (the layer).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.operator import NOTHING, Operator, OperatorKind, Reach, Size, Split
from foretrain.workload.parts.attention import HEADS, Core, core
from foretrain.workload.parts.stream import Division, HiddenStates, Norm, at_least, linear, norm


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpace:
    """The shape of a Mamba-2 layer.

    Attributes:
        heads: independent recurrences.
        width: of one head.
        groups: groups of heads that share their input and output projections of the state.
        state: width of the state.
        kernel: tokens under the convolution before the recurrence.
        chunk: tokens that are worked on as one product.
    """

    heads: int
    width: int
    groups: int
    state: int
    kernel: int = 4
    chunk: int = 128

    def __post_init__(self) -> None:
        at_least(self, 1, "heads", "width", "groups", "state", "kernel", "chunk")
        if self.heads % self.groups:
            raise InputError(
                f"StateSpace.groups must divide the {self.heads} heads, got {self.groups}."
            )

    @property
    def inner(self) -> int:
        """Width of all heads together."""
        return self.heads * self.width

    @property
    def mixed(self) -> int:
        """Width of what the convolution reads: values, and both projections of each group."""
        return self.inner + 2 * self.groups * self.state


def state_space(shape: StateSpace, stream: HiddenStates) -> tuple[Operator, ...]:
    """From the norm (without it) to the residual (without it)."""
    inside = replace(stream, hidden=shape.inner, norm=Norm.SCALE)
    return (
        linear(
            "state-space in",
            stream.tokens,
            (stream.hidden, shape.inner + shape.mixed + shape.heads),
            bias=False,
            division=_groups(shape, Split.COLUMNS),
        ),
        # Over the last few tokens, each channel alone; it keeps its input and runs again backward.
        Operator(
            name="convolution",
            weights=shape.mixed * (shape.kernel + 1),
            forward=Size(values=2 * stream.tokens * shape.mixed),
            backward=Size(values=5 * stream.tokens * shape.mixed),
            kept=Size(values=stream.tokens * shape.mixed),
            split=Split.HEADS,
        ),
        _scan(shape, stream),
        replace(norm("gated norm", inside), split=Split.HEADS, sequence=False),
        linear(
            "state-space out",
            stream.tokens,
            (shape.inner, stream.hidden),
            bias=False,
            division=_groups(shape, Split.DEPTH),
        ),
    )


def _groups(shape: StateSpace, split: Split) -> Division:
    return Division(split=split, units=shape.groups, unit="state-space groups")


def _scan(shape: StateSpace, stream: HiddenStates) -> Operator:
    """The recurrence as products inside chunks and a state handed from chunk to chunk.

    At the rates of fused attention: per token the lower half of a chunk's scores, and the state
    written and read once. It keeps its inputs, the gate among them.

    Source: dao2024, section 6, and its kernels (from memory).
    """
    chunk = min(shape.chunk, stream.tokens)
    inside = chunk * (shape.groups * shape.state + shape.inner)
    flop = stream.tokens * (inside + 4.0 * shape.state * shape.inner)
    values = stream.tokens * (shape.inner + shape.mixed + shape.heads)
    forward, backward = _moved(shape, stream.tokens, chunk=chunk)
    return Operator(
        name="scan",
        kind=OperatorKind.FUSED_ATTENTION,
        weights=3 * shape.heads,
        flop=flop,
        backward_flop=3.0 * flop,
        forward=forward,
        backward=backward,
        kept=Size(values=values),
        kernels=5,
        split=Split.HEADS,
        reach=Reach.SCANNED,
    )


def _moved(shape: StateSpace, tokens: int, *, chunk: int) -> tuple[Size, Size]:
    """What the kernels of a scan read and write, forward and backward.

    Forward: sums of decays (fp32), a state of each chunk (fp32), the state handed on (read in fp32,
    written as an activation), scores of each chunk (fp32), and outputs from scores, values, gate
    and handed state, with the gate and without. Backward the first four run again; then gradients
    of gate and output, of states, of those handed on, of values, of both projections, of scores
    and of decays, each by a kernel that reads the values or the output's gradient anew.

    Source: the kernels of dao2024, counted from memory.
    """
    inner, projections = tokens * shape.inner, tokens * shape.groups * shape.state
    scores = 4 * tokens * shape.groups * chunk
    decays = 4 * tokens * shape.heads
    states = 4 * tokens / chunk * shape.inner * shape.state
    forward = Size(
        values=5 * inner + 4 * projections,
        fixed=2 * scores + 6 * decays + 3 * states,
    )
    backward = Size(
        values=16 * inner + 12 * projections,
        fixed=7 * scores + 16 * decays + 7.5 * states,
    )
    return forward, backward
