"""What software makes of a model: the kernels of its loss, and what eager execution keeps.

Cross-entropy: how software computes the loss of logits, and what its kernels read and write.

Logits are most of what the ends of a model move, so whether their loss is one kernel or a dozen
decides what the ends cost.

Eager: what a model keeps where every operation is a kernel of its own.

The library counts what fused kernels keep. A framework that runs operation by operation keeps what
each of them needs: copies of rotated queries and keys, both factors of a gate, norms in fp32. Times
are left as they are.

Source: pytorch, tools/autograd/derivatives.yaml (from memory, not read again).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import NOTHING, Attention, Operator, OperatorKind, Size, Split
from foretrain.workload.trainable import is_linear, projections, stem


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


FP32_BYTES = 4.0
PARTS = 3
"""Queries, keys and values: what one product computes side by side."""


class Loss(StrEnum):
    """How logits and their loss are computed, and what of them is there at the peak."""

    LEAN = "lean"
    """As the library counts it: logits are freed, softmax is kept in fp32."""
    WHOLE = "whole"
    """Logits are widened to fp32; of softmax, which is kept, comes the gradient of its picked
    values, and of that the one of logits, each in fp32."""
    SHIFTED = "shifted"
    """The same, after logits in 16 bits and a shifted copy of those in fp32."""
    FUSED = "fused"
    """One kernel whose gradients take the place of its input, a shifted copy of fp32 logits."""
    CHUNKED = "chunked"
    """Eight parts of the tokens one after another; logits of all in 16 bits."""
    FUSED_LINEAR = "fused linear"
    """Logits of so few tokens at once that they are no more than what the product reads."""

    def at_peak(self, logits: float, inputs: float, *, narrow: bool = False) -> tuple[Size, Size]:
        """What is kept, and what passes beside it as the backward pass begins.

        Args:
            logits: their number.
            inputs: values that the product which makes them reads.
            narrow: whether nothing is widened to fp32.
        """
        if narrow:
            one = Size(values=inputs if self is Loss.FUSED_LINEAR else logits)
            passing = {Loss.WHOLE: 2, Loss.SHIFTED: 3, Loss.FUSED: 1}.get(self, 0)
            return one, Size(values=passing * logits)
        wide = FP32_BYTES * logits
        return {
            Loss.LEAN: (Size(fixed=wide), NOTHING),
            Loss.WHOLE: (Size(fixed=wide), Size(fixed=2 * wide)),
            Loss.SHIFTED: (Size(fixed=wide), Size(values=logits, fixed=2 * wide)),
            Loss.FUSED: (Size(fixed=wide), Size(fixed=wide)),
            Loss.CHUNKED: (Size(values=logits), Size(fixed=3 * wide / CHUNKS)),
            Loss.FUSED_LINEAR: (Size(values=inputs), Size(fixed=3 * FP32_BYTES * inputs)),
        }[self]


CHUNKS = 8
"""Of torchtune's chunked loss (from memory)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """What is fused of a model that runs operation by operation.

    Attributes:
        loss: the loss.
        narrow: whether logits and their loss stay at the precision of activations.
        norms: whether a norm is one kernel, which keeps its input as it is.
        separate: whether queries, keys and values are products of their own, with adapters of their
            own; otherwise they are parts of one, whose result stays beside rotated copies, and
            adapters of some of them are padded by an indexed copy.
        gathered: whether the tensor axis is PyTorch's: what a product gathers of tokens is kept as
            it is, a loss of divided logits makes one more copy, and each member has the gradient of
            the whole table of an embedding.
        loss_inside: whether the model computes its loss itself.
        autocast: whether parameters and the stream are in fp32 and each product casts its input.
        wide_stream: whether what layers hand on is in fp32.
        inputs: whether a product whose weights are stored in fewer bits keeps what it reads,
            though they are frozen (bitsandbytes before 2024).
        masks: whether a fused kernel keeps a mask of all pairs of tokens, in 16 bits for each head.
        passes: whether a compiler fuses what lies between products, so that they keep what the
            library counts.
    """

    loss: Loss = Loss.LEAN
    narrow: bool = False
    norms: bool = False
    separate: bool = False
    gathered: bool = False
    loss_inside: bool = False
    autocast: bool = False
    wide_stream: bool = False
    inputs: bool = False
    masks: bool = False
    passes: bool = False


NOTHING_FUSED = Kernels()


def eager(model: Model, kernels: Kernels = NOTHING_FUSED) -> Model:
    """A model as an eager framework keeps it.

    Args:
        model: adapters included.
        kernels: what is fused all the same.
    """
    tokens = model.tokens
    layers = (
        replace(
            layer,
            operators=tuple(
                _with_loss(layer, each, kernels)
                for each in (
                    layer.operators
                    if kernels.passes
                    else _operators(layer, tokens, kernels=kernels)
                )
            ),
        )
        for layer in model.layers
    )
    return replace(model, layers=tuple(map(_with_most_passing, layers)))


GELU_KEPT = 3
"""Values that x * 0.5 * (1 + erf(x / sqrt(2))) keeps for each of its input, operation by operation:
what the error function reads, and both factors of the last product."""


def with_written_gelu(model: Model) -> Model:
    """A model whose GELU is written in Python, which keeps more than a kernel of its own.

    Source: pytorch-pretrained-bert 0.6.2, modeling.py; transformers 2.9, activations.py.
    """
    layers = (
        replace(layer, operators=tuple(map(_with_written_gelu, layer.operators)))
        for layer in model.layers
    )
    return replace(model, layers=tuple(layers))


def _with_written_gelu(operator: Operator) -> Operator:
    if not stem(operator).endswith("activation"):
        return operator
    return replace(operator, kept=Size(values=GELU_KEPT * operator.kept.values))


def _with_most_passing(layer: Layer) -> Layer:
    """The layer with what passes by the one operator by which most does; of scores apart.

    Operators have their backward passes one after another.
    """
    mine = [each for each in layer.operators if each.passing and each.attention is None]
    most = max(mine, key=lambda each: _bytes(each.passing), default=None)
    operators = (
        replace(each, passing=None) if each in mine and each is not most else each
        for each in layer.operators
    )
    return replace(layer, operators=tuple(operators))


def _bytes(size: Size | None) -> float:
    """Bytes in 16 bits, to tell what is more."""
    return 0.0 if size is None else 2 * size.values + size.fixed


def _with_loss(layer: Layer, operator: Operator, kernels: Kernels) -> Operator:
    """The operator, with what the loss keeps if it is one of logits."""
    loss = kernels.loss
    if operator.name != "loss" or not operator.kept.fixed or loss is Loss.LEAN:
        return operator
    products = (each.matrices for each in layer.operators if each.name == "logits")
    product = next(products, None)
    inputs = product.batch * product.rows * product.depth if product else 0.0
    logits = operator.kept.fixed / FP32_BYTES
    kept, passing = loss.at_peak(logits, inputs, narrow=kernels.narrow)
    return replace(operator, kept=kept, passing=passing)


def _operators(layer: Layer, tokens: int, *, kernels: Kernels) -> Iterator[Operator]:
    after, joined = 0, not kernels.separate
    pads = joined and 0 < sum(map(_of_part, layer.operators)) < PARTS
    for each in layer.operators:
        after += _is_norm(each)
        kept = each.kept
        if not (kernels.norms and _is_norm(each)):
            kept = _kept(each, tokens, joined=joined, pads=pads)
        if kernels.autocast:
            kept = _cast(each, kept, layer)
        if kernels.masks and each.kind is OperatorKind.FUSED_ATTENTION:
            products = (each.matrices for each in layer.operators if each.name == "scores")
            pairs = sum(each.batch * each.rows * each.columns for each in products if each)
            kept = replace(kept, values=kept.values + pairs)
        if (
            each.matrices is not None
            and each.attention is Attention.PLAIN
            and "scores" in each.name
        ):
            kept = _repeated(each, layer)
        if kernels.inputs and each.stored and is_linear(each) and kept == NOTHING:
            # The input of a product; what several read after the same norm is kept once.
            product, after_norm = each.matrices, not stem(each).endswith(" out")
            assert product is not None
            if not after_norm or after:
                kept = Size(values=product.batch * product.rows * product.depth)
            after = max(0, after - after_norm)
        gathered = kernels.gathered and each.split is Split.COLUMNS
        yield replace(each, kept=kept, passing=_passing(each, layer), gathered=gathered)


def _kept(operator: Operator, tokens: int, *, joined: bool, pads: bool) -> Size:
    """What one operator keeps."""
    kept = operator.kept
    if _is_norm(operator) and operator.weights * tokens == kept.values:
        # An RMS norm squares and scales a copy of its input in fp32, and weighs what it narrowed.
        weighed = kept.values * (operator.trainable > 0)
        return Size(values=weighed, fixed=FP32_BYTES * kept.values)
    if operator.attention is Attention.PLAIN and stem(operator).endswith("softmax"):
        # In fp32, then narrowed for the product that reads it.
        return Size(values=kept.values, fixed=FP32_BYTES * kept.values)
    if joined and operator.keys and operator.kernels:
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


def _repeated(scores: Operator, layer: Layer) -> Size:
    """Keys and values that are repeated for the queries that share them, beyond those kept."""
    product = scores.matrices
    assert product is not None
    shared = sum(each.keys for each in layer.operators)
    return Size(values=max(0.0, 2 * product.batch * product.columns * product.depth - shared))


def _cast(operator: Operator, kept: Size, layer: Layer) -> Size:
    """What is kept where parameters are in fp32: a norm's results too, and a cast of each input."""
    if _is_norm(operator):
        return Size(fixed=2 * FP32_BYTES * operator.kept.values)
    product = operator.matrices
    if operator.split is not Split.COLUMNS or product is None or not kept.values:
        return kept
    # Queries, keys and values, or two branches, each cast the same input again.
    readers = len(projections(operator, layer)) if stem(operator) != "logits" else 1
    return Size(values=kept.values * readers)


def _passing(operator: Operator, layer: Layer) -> Size | None:
    """What is there beside all that a layer keeps, in the backward pass of one operator.

    An activation gives gradients of each of its branches while the one that it got is still there.
    An adapter in fp32 widens the gradient of what it was added to, and scales it. The gradient of
    the stream passes by all of them, and what a norm adds to it.
    """
    if operator.attention is Attention.PLAIN and stem(operator).endswith("softmax"):
        scores = operator.kept.values
        return Size(values=2 * scores, fixed=FP32_BYTES * scores)
    activation = operator.kind is OperatorKind.MEMORY and stem(operator).endswith("activation")
    product = operator.matrices
    if operator.name.endswith("adapter up") and operator.stored == FP32_BYTES and product:
        written = product.batch * product.rows * product.columns
        return Size(values=2 * layer.input, fixed=2 * FP32_BYTES * written)
    return Size(values=2 * layer.input + operator.kept.values) if activation else None


def _is_norm(operator: Operator) -> bool:
    return operator.kind is OperatorKind.MEMORY and stem(operator).endswith("norm")


def _of_part(operator: Operator) -> bool:
    """Whether it adds an adapter to a part of what the product beside it computes."""
    return operator.name.startswith("query-key-value ") and operator.name.endswith("adapter sum")
