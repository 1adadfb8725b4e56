"""Cross-entropy: how software computes the loss of logits, and what its kernels read and write.

Logits are most of what the ends of a model move, so whether their loss is one kernel or a dozen
decides what the ends cost.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator, Size


class CrossEntropy(StrEnum):
    """Kinds of a loss, by its kernels."""

    SOFTMAX = "softmax"
    """A framework's: logits widened to fp32, one kernel of their softmax, one of its gradient."""
    APART = "apart"
    """Written down operation by operation in fp32, so that members of a tensor axis which divide
    the vocabulary exchange no more than a maximum and sums."""
    FUSED = "fused"
    """One kernel that reads logits as they are, and one that puts gradients in their place."""
    AT_ONCE = "at-once"
    """The same, but that gradients come in the forward pass, after another one for the sums, and
    are multiplied by what the loss gets."""


WIDENED, OPERATION, READ, NARROWED = 4, 8, 4, 4
"""Bytes in fp32 of a value that is widened, changed in its place, read, or narrowed again; of
widened and narrowed ones besides what is read or written at the precision of activations."""


def computed(model: Model, how: CrossEntropy) -> Model:
    """A model whose loss is computed in a certain way; the library counts that of a framework."""
    if how is CrossEntropy.SOFTMAX:
        return model
    return replace(model, layers=tuple(_of_head(layer, how) for layer in model.layers))


def _of_head(layer: Layer, how: CrossEntropy) -> Layer:
    """The layer with its loss, if it is one of logits."""
    if layer.name != "head":
        return layer
    operators = tuple(_loss(each, how) if each.name == "loss" else each for each in layer.operators)
    return replace(layer, operators=operators)


def _loss(loss: Operator, how: CrossEntropy) -> Operator:
    """The loss of some logits. Sources: megatron-cross-entropy; flash-attention-cross-entropy."""
    many = loss.forward.values
    if how is not CrossEntropy.APART:
        read = many if how is CrossEntropy.FUSED else 3 * many
        return replace(
            loss,
            forward=Size(values=read),
            backward=Size(values=2 * many),
            kernels=1,
            single=True,
        )
    # Widened; the maximum read; it subtracted, exponentials, their sum read, shares. Back: shares
    # times what the loss gets, narrowed. Calls are those of 9 operators.
    forward = WIDENED + READ + OPERATION + OPERATION + READ + OPERATION
    return replace(
        loss,
        forward=Size(values=many, fixed=forward * many),
        backward=Size(values=many, fixed=(OPERATION + NARROWED) * many),
        kernels=9,
    )
