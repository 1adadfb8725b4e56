"""Adapters: two thin products beside a frozen one.

Source: hu2022, section 4.
"""

from __future__ import annotations

import re
from dataclasses import replace

from foretrain.workload.graph import Layer
from foretrain.workload.operator import Kind, Matrices, Operator, Size, Split, matmul


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
        kind=Kind.MEMORY,
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
