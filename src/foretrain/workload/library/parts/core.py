"""The core of attention: scores, softmax and context, as four kernels or as a fused one.

The plain kernels compute every score and mask afterwards, and model FLOP are counted that way
(chowdhery2022, appendix B); the fused kernel computes only what causality and windows leave.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.operator import (
    Attention,
    Kind,
    Matrices,
    Operator,
    Size,
    Split,
    matmul,
)

FLASH_BACKWARD_PRODUCTS = 5 / 2
"""Products of the backward pass over those of the forward pass. Source: dao2022, algorithm 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Queries that meet keys, in one sample.

    Attributes:
        queries: tokens that ask.
        keys: tokens that are asked.
        heads: query heads.
        kv_heads: heads of keys and values.
        key_width: of one query or key.
        value_width: of one value.
        pairs: pairs of a query and a key that no mask hides, for one head.
        dropout: whether some of the weights are dropped.
        prefix: of the operators' names.
    """

    queries: int
    keys: int
    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    pairs: float
    dropout: bool
    prefix: str = ""

    @property
    def both_widths(self) -> int:
        """Of a query and an output, or of a key and a value."""
        return self.key_width + self.value_width


def core(shape: Core) -> tuple[Operator, ...]:
    """The operators of both kernels; a plan has those of one."""
    return (*_plain(shape), _flash(shape))


def _plain(shape: Core) -> tuple[Operator, ...]:
    scores = shape.heads * shape.queries * shape.keys
    softmax = _moving(
        f"{shape.prefix}softmax", moved=(2 * scores, 3 * scores), kept=Size(values=scores)
    )
    dropout = _moving(
        f"{shape.prefix}attention dropout",
        moved=(2 * scores, 2 * scores),
        mask=scores,
        kept=Size(values=scores, fixed=scores),
    )
    return (
        _product("scores", shape, columns=shape.keys, depth=shape.key_width),
        softmax,
        *([dropout] if shape.dropout else []),
        _product("context", shape, columns=shape.value_width, depth=shape.keys),
    )


def _moving(name: str, *, moved: tuple[float, float], mask: float = 0.0, kept: Size) -> Operator:
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        forward=Size(values=moved[0], fixed=mask),
        backward=Size(values=moved[1], fixed=mask),
        kept=kept,
        split=Split.HEADS,
        selective=True,
        dropped=True,
        attention=Attention.PLAIN,
    )


def _product(name: str, shape: Core, *, columns: int, depth: int) -> Operator:
    return matmul(
        f"{shape.prefix}{name}",
        Matrices(rows=shape.queries, columns=columns, depth=depth, batch=shape.heads),
        split=Split.HEADS,
        selective=True,
        attention=Attention.PLAIN,
    )


def _flash(shape: Core) -> Operator:
    """One fused kernel; it skips what is masked and keeps one sum per row."""
    ends = shape.queries * shape.heads + shape.keys * shape.kv_heads
    flop = 2.0 * shape.pairs * shape.heads * shape.both_widths
    return Operator(
        name=f"{shape.prefix}flash attention",
        kind=Kind.FUSED_ATTENTION,
        flop=flop,
        backward_flop=FLASH_BACKWARD_PRODUCTS * flop,
        forward=Size(values=ends * shape.both_widths),
        backward=Size(values=2 * ends * shape.both_widths),
        kept=Size(fixed=4 * shape.heads * shape.queries),
        split=Split.HEADS,
        attention=Attention.FLASH,
    )
