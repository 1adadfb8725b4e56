"""What of a model is trained: all, its last layers, or adapters on frozen weights.

A frozen product has no gradient of its weights, so its backward pass is one product instead of two,
and it keeps no input. Layers before the first trained one have no backward pass at all. An adapter
of rank r adds x A B to a product of x, with A of (inputs, r) and B of (r, outputs).

Sources: hu2022, section 4 (LoRA); dettmers2023, section 3 (QLoRA).

Adapters: two thin products beside a frozen one.

Source: hu2022, section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from foretrain.errors import InputError, nearest
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import (
    NOTHING,
    Matrices,
    Operator,
    Size,
    Split,
    matmul,
)

FP32_BYTES = 4.0


class WeightStorage(StrEnum):
    """How frozen weights of products are stored; they are used at the workload's precision."""

    NF4 = "nf4"
    """Four bits and doubly quantised scales, 4.127 bits in all. Source: dettmers2023, section 3."""
    NF4_PLAIN = "nf4-plain"
    """Four bits and an fp32 scale for 64 weights, 4.5 bits in all. Source: as above."""
    GPTQ = "gptq"
    """Four bits, and for 128 weights an fp16 scale and a zero of four bits, 4.156 bits in all.
    Source: frantar2023, section 4 (groups of 128)."""
    INT8 = "int8"
    """One byte; the scale of a row is left out. Source: dettmers2022-int8."""

    @property
    def weight_bytes(self) -> float:
        """Bytes of one weight in memory."""
        bits = {
            WeightStorage.NF4: 4 + 8 / 64 + 32 / (64 * 256),
            WeightStorage.NF4_PLAIN: 4 + 32 / 64,
            WeightStorage.GPTQ: 4 + (16 + 4) / 128,
            WeightStorage.INT8: 8.0,
        }
        return bits[self] / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainable:
    """What is trained of a model.

    Attributes:
        frozen: first layers (of those that a pipeline may cut at) that are frozen, with what stands
            before them.
        lora: rank of the adapters, which alone are trained; 0 for none.
        targets: projections with an adapter, by the name of the operator or as Hugging Face calls
            its parts (q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj); empty for all
            of the layers that a pipeline may cut at.
        stored: how the frozen weights are stored; None for the precision of the workload.
        dropout: whether what enters an adapter drops some values.
        widened: whether adapters are kept in fp32, each of which then reads a copy of its own of
            what enters it (peft, autocast_adapter_dtype).
    """

    frozen: int = 0
    lora: int = 0
    targets: tuple[str, ...] = ()
    stored: WeightStorage | None = None
    dropout: bool = False
    widened: bool = False

    def __post_init__(self) -> None:
        for name in ("frozen", "lora"):
            if not getattr(self, name) >= 0:
                raise InputError(f"Trainable.{name} must be at least 0, got {getattr(self, name)}.")
        if self.frozen and self.lora:
            raise InputError("lora: adapters freeze every layer; leave frozen out.")
        if not self.lora and (self.targets or self.stored or self.dropout):
            raise InputError(
                "targets, quantised and dropout need adapters; give their rank as lora, such as "
                "lora = 16."
            )


EVERYTHING = Trainable()
"""All parameters are trained."""


def adapted(model: Model, trainable: Trainable) -> Model:
    """A model of which only a part is trained.

    The first layer with an adapter is priced like the others, though nothing before it needs the
    gradient of its input.

    Raises:
        InputError: more layers are frozen than there are, or a target is not in the model.
    """
    if trainable.lora:
        return replace(model, layers=tuple(_with_adapters(model, trainable)))
    if trainable.frozen:
        return replace(model, layers=tuple(without_backward(model, trainable.frozen)))
    return model


def without_backward(model: Model, frozen: int) -> Iterator[Layer]:
    """The layers of a model whose first ones are frozen."""
    if frozen > model.cuttable_layers:
        raise InputError(
            f"model '{model.name}' has {model.cuttable_layers} layers; {frozen} cannot be frozen."
        )
    left = frozen
    started = False
    for layer in model.layers:
        started = started or layer.cuttable
        count = min(left, layer.repeats) if layer.cuttable else 0
        left -= count
        if not started:
            yield forward_only(layer)
            continue
        if count:
            yield forward_only(replace(layer, name=f"frozen {layer.name}", repeats=count))
        if count < layer.repeats:
            yield replace(layer, repeats=layer.repeats - count)


def forward_only(layer: Layer) -> Layer:
    """A frozen layer with no trained one before it: nothing is kept, nothing comes back."""
    operators = tuple(
        replace(each, trained=0.0, backward_flop=0.0, backward=NOTHING, kept=NOTHING)
        for each in layer.operators
    )
    return replace(layer, operators=operators, recomputable=False)


def _with_adapters(model: Model, trainable: Trainable) -> Iterator[Layer]:
    """The layers of a model of which adapters alone are trained."""
    known = dict.fromkeys(
        name
        for layer, each in model.operators
        if layer.cuttable and is_linear(each)
        for name in (stem(each), *projections(each, layer))
    )
    for target in trainable.targets:
        if target not in known:
            raise InputError(
                f"model '{model.name}' has no projection '{target}'.{nearest(target, known)} "
                f"Known: {', '.join(known)}."
            )
    started = False
    for layer in model.layers:
        started = started or layer.cuttable
        if layer.cuttable:
            yield replace(layer, operators=tuple(_adapted(layer, trainable)))
        elif started:
            yield replace(layer, operators=tuple(frozen_operators(layer, None)))
        else:
            yield forward_only(layer)


def frozen_operators(layer: Layer, stored: WeightStorage | None) -> Iterator[Operator]:
    """The operators of a frozen layer through which gradients still flow."""
    # What wrote a product's input may do without it in its own backward pass. An activation of a
    # convolutional network and fused attention need it, and leave it to the product to keep it.
    written = False
    for each in layer.operators:
        product = each.matrices if is_linear(each) else None
        yield replace(
            each,
            trained=0.0,
            stored=stored.weight_bytes if stored and product else each.stored,
            backward_flop=product.flop if product else each.backward_flop,
            kept=NOTHING if product and written else each.kept,
        )
        written = each.kept.values > 0 or each.routed > 0


def _adapted(layer: Layer, trainable: Trainable) -> Iterator[Operator]:
    """The operators of a frozen layer with adapters behind their products."""
    held = False
    operators = zip(layer.operators, frozen_operators(layer, trainable.stored), strict=True)
    for each, frozen in operators:
        yield frozen
        # A product that keeps nothing shares the input of one before it.
        shared = each.kept == NOTHING
        held = (held and shared) or frozen.kept.values > 0
        dropped = trainable.dropout
        for name, outputs in _targeted(each, layer, trainable.targets):
            down, *others = adapter(each, name, outputs=outputs, rank=trainable.lora)
            # Dropout makes a copy and a mask of what enters, once for a product.
            copied = replace(down.kept, fixed=down.kept.values)
            if trainable.widened:
                copied = Size(fixed=(FP32_BYTES + trainable.dropout) * down.kept.values)
                dropped = True
            kept = copied if dropped else NOTHING if held else down.kept
            stored = FP32_BYTES if trainable.widened else down.stored
            for factor in (replace(down, kept=kept), *others):
                yield replace(factor, stored=stored) if factor.weights else factor
            held, dropped = True, False


def _targeted(
    operator: Operator, layer: Layer, targets: tuple[str, ...]
) -> Iterator[tuple[str, float]]:
    """Projections of an operator that have an adapter, with their widths."""
    if not is_linear(operator):
        return
    parts = projections(operator, layer)
    if stem(operator) in targets:
        yield "", sum(parts.values())
        return
    for name, outputs in parts.items():
        if not targets or name in targets:
            yield name, outputs


def is_linear(operator: Operator) -> bool:
    """Whether it is a product with weights."""
    return operator.matrices is not None and operator.weights > 0


def stem(operator: Operator) -> str:
    """Its name without the number of its block in a layer of several."""
    return re.sub(r" \d+$", "", operator.name)


def projections(operator: Operator, layer: Layer) -> dict[str, float]:
    """What one product computes side by side, with widths, under Hugging Face's names if known.

    Args:
        operator: a product with weights.
        layer: whose other products tell how wide the parts are.
    """
    product = operator.matrices
    assert product is not None
    name = stem(operator)
    part, _, end = name.rpartition(" ")
    if name == "query-key-value":
        queries = _depth(layer, operator, "attention output")
        keys = (product.columns - queries) / 2
        return {"q_proj": queries, "k_proj": keys, "v_proj": keys}
    if name == "key-value":
        return dict.fromkeys(("k_proj", "v_proj"), product.columns / 2)
    if end == "in" and product.columns == 2 * _depth(layer, operator, f"{part} out"):
        return dict.fromkeys(("gate_proj", "up_proj"), product.columns / 2)
    whole = {"in": "up_proj", "out": "down_proj"}.get(end, name)
    return {{"query": "q_proj", "attention output": "o_proj"}.get(name, whole): product.columns}


def _depth(layer: Layer, operator: Operator, name: str) -> float:
    """Inputs of the product of another name in the same block; 0 where there is none."""
    wanted = name + operator.name.removeprefix(stem(operator))
    found = (each.matrices for each in layer.operators if each.name == wanted)
    product = next(found, None)
    return product.depth if product else 0.0


def adapter(base: Operator, name: str, *, outputs: float, rank: int) -> tuple[Operator, ...]:
    """Down to the rank, up to the outputs, and added to them.

    Beside a product divided by columns the second factor is divided by columns, beside one divided
    by depth the first by depth; the other is small, and every member repeats it.

    Args:
        base: the product beside which it stands.
        name: of the projection, where the product has several.
        outputs: width of the projection.
        rank: width between the factors.
    """
    product = base.matrices
    assert product is not None
    title = f"{base.name} {name}".strip()
    rows = product.batch * product.rows
    down = _factor(base, f"{title} adapter down", (product.depth, rank), split=Split.DEPTH)
    up = _factor(base, f"{title} adapter up", (rank, outputs), split=Split.COLUMNS)
    added = Operator(
        name=f"{title} adapter sum",
        forward=Size(values=3 * rows * outputs),
        backward=Size(values=2 * rows * outputs),
        split=Split.HEADS if base.split is Split.COLUMNS else Split.NONE,
        sequence=base.split is Split.DEPTH,
        experts=base.experts,
        imbalance=base.imbalance,
    )
    return down, up, added


def _factor(base: Operator, name: str, size: tuple[float, float], *, split: Split) -> Operator:
    """One factor of an adapter; it is divided only where `base` is divided like it."""
    product = base.matrices
    assert product is not None
    inputs, outputs = size
    divided = base.split is split
    factor = matmul(
        name,
        Matrices(rows=product.rows, columns=outputs, depth=inputs, batch=product.batch),
        weights=(product.batch if base.experts else 1.0) * inputs * outputs,
        kept=Size(values=product.batch * product.rows * inputs),
        split=split if divided else Split.NONE,
        units=base.units if divided else 0,
        unit=base.unit if divided else "",
    )
    sequence = base.sequence or (not divided and base.split is not Split.NONE)
    return replace(factor, sequence=sequence, experts=base.experts, imbalance=base.imbalance)
