"""Blocks: what mixes tokens, what works on each of them, and the norms and additions around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from foretrain.errors import InputError
from foretrain.workload.graph import Layer
from foretrain.workload.operator import NOTHING, Operator
from foretrain.workload.parts.attention import Heads, attention, cross_attention
from foretrain.workload.parts.feed_forward import Experts, FeedForward, experts, feed_forward
from foretrain.workload.parts.mixers import Latent, StateSpace, latent_attention, state_space
from foretrain.workload.parts.stream import HiddenStates, at_least, norm, residual

Mixer = Heads | Latent | StateSpace
Operators = tuple[Operator, ...]


class Arrangement(StrEnum):
    """How the parts of a block meet the stream. A norm before a part costs what one after does."""

    SERIAL = "serial"
    """One after the other, each with a norm and an addition."""
    SANDWICH = "sandwich"
    """One after the other, each with a norm before, another one after, and an addition."""
    PARALLEL = "parallel"
    """Side by side: one norm, one addition, one sum over the tensor axis."""
    PARALLEL_NORMS = "parallel norms"
    """Side by side, each with its own norm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The shape of a block.

    Attributes:
        mixer: what lets tokens meet; None for a block without.
        cross: attention of a decoder to the output of an encoder.
        feed_forward: what works on each token alone; None for a block without.
        arrangement: how the parts meet the stream.
    """

    mixer: Mixer | None = None
    cross: Heads | None = None
    feed_forward: FeedForward | Experts | None = None
    arrangement: Arrangement = Arrangement.SERIAL

    def __post_init__(self) -> None:
        if self.mixer is None and self.feed_forward is None:
            raise InputError("Block needs a mixer, a feed-forward part, or both.")
        if self.parallel and (self.mixer is None or self.feed_forward is None or self.cross):
            raise InputError(
                "Block.arrangement: only a mixer and a feed-forward part stand side by side."
            )

    @property
    def parallel(self) -> bool:
        """Whether the parts stand side by side."""
        return self.arrangement in (Arrangement.PARALLEL, Arrangement.PARALLEL_NORMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Layers of one kind that follow one another.

    Attributes:
        blocks: of one layer; a pipeline is cut between layers, never inside one.
        repeats: layers.
        name: of the layers, shown to users.
    """

    blocks: tuple[Block, ...]
    repeats: int = 1
    name: str = "block"

    def __post_init__(self) -> None:
        at_least(self, 1, "repeats")
        if not self.blocks:
            raise InputError("Run.blocks needs at least one block.")


def layer(run: Run, stream: HiddenStates, *, memory: int = 0) -> Layer:
    """The layers of a run, which read and hand on the stream (and `memory` tokens beside it)."""
    parts = [block_operators(block, stream, memory=memory) for block in run.blocks]
    # Operators of several blocks of one layer have names that tell them apart.
    operators = tuple(
        operator if len(parts) == 1 else replace(operator, name=f"{operator.name} {position}")
        for position, each in enumerate(parts, start=1)
        for operator in each
    )
    return Layer(
        name=run.name,
        operators=operators,
        repeats=run.repeats,
        input=stream.values,
        output=stream.values + memory * stream.hidden,
    )


def ending(run: Run, stream: HiddenStates, operators: Operators) -> tuple[Layer, ...]:
    """The layers of a run whose last one ends in further operators: it is of a kind of its own."""
    last = layer(replace(run, repeats=1, name=f"last {run.name}"), stream)
    before = [layer(replace(run, repeats=run.repeats - 1), stream)] if run.repeats > 1 else []
    return (*before, replace(last, operators=(*last.operators, *operators)))


def block_operators(block: Block, stream: HiddenStates, *, memory: int = 0) -> Operators:
    """The operators of one block; a decoder's meets `memory` tokens of an encoder."""
    parts = list(_parts(block, stream, memory))
    if block.parallel:
        return _side_by_side(block.arrangement, parts, stream)
    sandwich = block.arrangement is Arrangement.SANDWICH
    return tuple(
        operator
        for title, operators in parts
        for operator in (
            norm(f"{title} norm", stream),
            *operators,
            *([norm(f"{title} output norm", stream)] if sandwich else []),
            residual(f"{title} residual", stream),
        )
    )


def _parts(block: Block, stream: HiddenStates, memory: int) -> list[tuple[str, Operators]]:
    parts = []
    if isinstance(block.mixer, Heads):
        parts.append(("attention", attention(block.mixer, stream)))
    if isinstance(block.mixer, Latent):
        parts.append(("attention", latent_attention(block.mixer, stream)))
    if isinstance(block.mixer, StateSpace):
        parts.append(("state-space", state_space(block.mixer, stream)))
    if block.cross is not None:
        parts.append(("cross", cross_attention(block.cross, stream, memory=memory)))
    if isinstance(block.feed_forward, FeedForward):
        parts.append(("feed-forward", feed_forward(block.feed_forward, stream)))
    if isinstance(block.feed_forward, Experts):
        parts.append(("feed-forward", experts(block.feed_forward, stream)))
    return parts


def _side_by_side(
    arrangement: Arrangement, parts: Sequence[tuple[str, Operators]], stream: HiddenStates
) -> Operators:
    """The partial sums of both outputs are added up at once, and with one norm the gradients too.

    The part that comes second therefore hands nothing to the tensor axis where the first one does.
    """
    (_, mixing), (title, (first, *between, last)) = parts
    last = replace(last, output=0.0)
    norms = [norm("attention norm", stream)]
    if arrangement is Arrangement.PARALLEL:
        first = replace(first, output=0.0, kept=NOTHING)
    else:
        # Both norms read the same stream, which is kept once.
        norms = [replace(norms[0], kept=NOTHING), norm(f"{title} norm", stream)]
    return (*norms, *mixing, first, *between, last, residual("residual", stream))


def structure(hidden: int, runs: Sequence[Run]) -> str:
    """The layers of a model in words."""
    blocks = [block for run in runs for block in run.blocks]
    layers = sum(run.repeats * len(run.blocks) for run in runs)
    told = [_mixing(block.mixer) for block in blocks] + [
        f"{block.feed_forward.chosen} of {block.feed_forward.count} experts"
        for block in blocks
        if isinstance(block.feed_forward, Experts)
    ]
    return f"{layers} layers of {hidden}, {', '.join(dict.fromkeys(filter(None, told)))}"


def _mixing(mixer: Mixer | None) -> str:
    if isinstance(mixer, Heads):
        shared = "" if mixer.kv_heads == mixer.heads else f" ({mixer.kv_heads} key-value)"
        return f"{mixer.heads} heads{shared}"
    if isinstance(mixer, Latent):
        return f"{mixer.heads} latent heads"
    return "Mamba-2" if mixer else ""
