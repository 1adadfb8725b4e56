"""Eager: what a model keeps where every operation is a kernel of its own.

The library counts what fused kernels keep. A framework that runs operation by operation keeps what
each of them needs: copies of rotated queries and keys, both factors of a gate, norms in fp32. Times
are left as they are.

Source: pytorch, tools/autograd/derivatives.yaml (from memory, not read again).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import NOTHING, Operator, OperatorKind, Size
from foretrain.workload.trainable import is_linear, stem

FP32_BYTES = 4.0
PARTS = 3
"""Queries, keys and values: what one product computes side by side."""


def eager(model: Model, *, keeps_inputs: bool = False) -> Model:
    """A model as an eager framework keeps it.

    Args:
        model: adapters included.
        keeps_inputs: whether a product whose weights are stored in fewer bits keeps what it reads,
            though they are frozen (bitsandbytes before 2024).
    """
    layers = (
        replace(layer, operators=tuple(_operators(layer, model.tokens, keeps_inputs)))
        for layer in model.layers
    )
    return replace(model, layers=tuple(layers))


def _operators(layer: Layer, tokens: int, keeps_inputs: bool) -> Iterator[Operator]:
    norms = 0
    pads = 0 < sum(map(_of_part, layer.operators)) < PARTS
    for each in layer.operators:
        norms += _is_norm(each)
        kept = _kept(each, tokens, pads=pads)
        if keeps_inputs and each.stored and is_linear(each) and kept == NOTHING:
            # The input of a product; what several read after the same norm is kept once.
            product, after_norm = each.matrices, not stem(each).endswith(" out")
            assert product is not None
            if not after_norm or norms:
                kept = Size(values=product.batch * product.rows * product.depth)
            norms = max(0, norms - after_norm)
        yield replace(each, kept=kept)


def _kept(operator: Operator, tokens: int, *, pads: bool) -> Size:
    """What one operator keeps."""
    kept = operator.kept
    if _is_norm(operator) and operator.weights * tokens == kept.values:
        # An RMS norm squares, scales and weighs a copy of its input in fp32.
        copies = 1 + (operator.trainable > 0)
        return Size(fixed=copies * FP32_BYTES * kept.values)
    if operator.keys and operator.kernels:
        # Values are a part of what the product wrote, which stays beside rotated copies.
        return replace(kept, values=kept.values + (operator.queries + operator.keys) / 2)
    if operator.kind is OperatorKind.MEMORY and stem(operator).endswith("activation"):
        # The product of an activated branch with the other one needs it.
        written = operator.forward.values - kept.values
        return replace(kept, values=kept.values + (written if kept.values > written else 0.0))
    if pads and _of_part(operator):
        # Padded by an indexed copy, which keeps what it copies.
        return Size(values=operator.forward.values / 3)
    return kept


def _is_norm(operator: Operator) -> bool:
    return operator.kind is OperatorKind.MEMORY and stem(operator).endswith("norm")


def _of_part(operator: Operator) -> bool:
    """Whether it adds an adapter to a part of what the product beside it computes."""
    return operator.name.startswith("query-key-value ") and operator.name.endswith("adapter sum")
