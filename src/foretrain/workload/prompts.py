"""Prompts: learned tokens that attention meets in frozen layers, and scales of frozen products.

Layers before the first prompt have no backward pass. With scales each product's output is scaled
and shifted, and norms are trained too.

Sources: zhang2023adapter, section 3 (prompts and gates); gao2023, section 3.1 (scales).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator, OperatorKind, Size, Split
from foretrain.workload.trainable import (
    WeightStorage,
    forward_only,
    frozen_operators,
    is_linear,
    stem,
)

GATED = "queries, keys, values"
"""The operator beside which a prompt stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is trained beside frozen layers.

    Attributes:
        tokens: learned ones of each layer, the same for every head.
        first: layers without them, at the start.
        scales: whether products have a scale and a shift per output, and norms are trained.
        stored: how the frozen weights are stored; None for the precision of the workload.
    """

    tokens: int
    first: int = 0
    scales: bool = False
    stored: WeightStorage | None = None

    def __post_init__(self) -> None:
        if not self.tokens >= 1:
            raise InputError(f"Prompt.tokens must be at least 1, got {self.tokens}.")
        if not self.first >= 0:
            raise InputError(f"Prompt.first must be at least 0, got {self.first}.")


def prompted(model: Model, prompt: Prompt) -> Model:
    """A model of which prompts, and scales where there are any, alone are trained.

    Raises:
        InputError: as many layers are left out as there are, or more.
    """
    if prompt.first >= model.cuttable_layers:
        raise InputError(
            f"model '{model.name}' has {model.cuttable_layers} layers; a prompt cannot start "
            f"after {prompt.first}."
        )
    layers: list[Layer] = []
    left, started = prompt.first, False
    for layer in model.layers:
        started = started or layer.cuttable
        whole = replace(layer, operators=tuple(_operators(layer, prompt, tokens=0)))
        if not layer.cuttable:
            layers.append(whole if started else forward_only(layer))
            continue
        # Layers before the first prompt.
        count = min(left, layer.repeats)
        left -= count
        if count:
            named = replace(whole, name=f"{layer.name} without prompt", repeats=count)
            layers.append(named if prompt.scales else forward_only(named))
        if count < layer.repeats:
            operators = tuple(_operators(layer, prompt, tokens=prompt.tokens))
            layers.append(replace(layer, operators=operators, repeats=layer.repeats - count))
    return replace(model, layers=tuple(layers))


def _operators(layer: Layer, prompt: Prompt, *, tokens: int) -> Iterator[Operator]:
    stored = prompt.stored if layer.cuttable else None
    for each, frozen in zip(layer.operators, frozen_operators(layer, stored), strict=True):
        norm = each.kind is OperatorKind.MEMORY and stem(each).endswith("norm")
        yield replace(frozen, trained=each.trained) if norm and prompt.scales else frozen
        if tokens and stem(each) == GATED:
            yield _prompt(each, layer, tokens)
        if prompt.scales and is_linear(each):
            yield _scale(each)


def _prompt(heads: Operator, layer: Layer, tokens: int) -> Operator:
    """Learned tokens through the frozen product, attention to them, and a gate for each head."""
    queries = heads.queries / 2
    # Width of the stream.
    product = next(each.matrices for each in layer.operators if is_linear(each))
    assert product is not None
    hidden = product.depth
    return Operator(
        name="prompt attention",
        weights=tokens * hidden + heads.units,
        forward=Size(values=3 * queries),
        backward=Size(values=4 * queries),
        kept=Size(values=queries),
        kernels=3,
        split=Split.HEADS,
        units=heads.units,
        unit=heads.unit,
    )


def _scale(base: Operator) -> Operator:
    """A scale and a shift of what a product writes, which the scale's gradient needs."""
    product = base.matrices
    assert product is not None
    written = product.batch * product.rows * product.columns
    return Operator(
        name=f"{base.name} scale",
        weights=2 * product.columns,
        forward=Size(values=2 * written),
        backward=Size(values=3 * written),
        kept=Size(values=written),
        kernels=2,
        split=Split.HEADS if base.split is Split.COLUMNS else Split.NONE,
        sequence=base.split is Split.DEPTH,
    )
