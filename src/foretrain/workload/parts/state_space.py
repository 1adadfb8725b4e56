"""State-space mixing of tokens: a Mamba-2 layer.

Source: dao2024, section 6 (state-space duality, in chunks) and section 7 (the layer).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.operator import Operator, OperatorKind, Reach, Size, Split
from foretrain.workload.parts.stream import Division, HiddenStates, Norm, at_least, linear, norm


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
