"""Variants: what the oracle's program does otherwise than a sound model, put as other questions.

Foretrain's formulas stay what they are; it is asked about a network or a machine with which they
say what the program says. Each golden names the variants that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import ceil
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level, Technology
from foretrain.workload.convolution.layer_list import LayerKind, ListedLayer
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator

APART = (LayerKind.NORM, LayerKind.ACTIVATION)
"""Layers that work in place."""

EVEN = 4
"""Pixels of which the oracle's four members have an equal part."""

LEAF = 30.31e-6
"""Seconds until a message below one switch arrives."""

HOST_PATH = 3e-3 + 110e-9
"""Seconds of a message that goes by way of the host, without GPUDirect."""


def pooling_by_filters(row: ListedLayer) -> ListedLayer:
    """A pooling counts its work once for each of its channels: a slip of the program."""
    if row.kind is not LayerKind.POOLING:
        return row
    return replace(row, flop=row.computes * row.result.channels)


def buffers_apart(row: ListedLayer) -> ListedLayer:
    """Every layer has buffers of its own for input and output, and for the gradients of both."""
    values = 0.0 if row.kind in APART else row.picture.values + row.result.values
    return replace(row, kept=2.0 * values)


def results_return(operator: Operator) -> Operator:
    """Gradients that convolutions hand back are as many as their results, those of samples too."""
    product = operator.matrices
    if product is None or not operator.filters:
        return operator
    square = replace(product, reuse=product.depth / product.columns)
    return replace(operator, first=False, matrices=square)


def inputs_return(operator: Operator) -> Operator:
    """Borders of gradients are as large as those of inputs, those of samples too."""
    pixels = operator.pixels
    if pixels is None:
        return operator
    inputs = (pixels.channels[0], pixels.channels[0])
    same = replace(pixels, written=pixels.read, channels=inputs, gradients=pixels.borders)
    return replace(operator, first=False, pixels=same)


def even_parts(operator: Operator) -> Operator:
    """Members of a grid share all work evenly, however many pixels a side has."""
    pixels = operator.pixels
    if pixels is None:
        return operator
    read, written = (
        tuple(EVEN * ceil(side / EVEN) for side in sides) for sides in (pixels.read, pixels.written)
    )
    return replace(operator, pixels=replace(pixels, read=read, written=written))


def gathered_whole(operator: Operator) -> Operator:
    """Each of the four members contributes as much to a gathering as all of them have to give."""
    pixels = operator.pixels
    if pixels is None:
        return operator
    read, written = pixels.channels
    return replace(operator, pixels=replace(pixels, channels=(read, 4 * written)))


def no_borders(operator: Operator) -> Operator:
    """No variant of the program: what is left of exchanges where pictures end."""
    pixels = operator.pixels
    if pixels is None:
        return operator
    none = ((0, 0),) * len(pixels.read)
    return replace(operator, pixels=replace(pixels, borders=none, gradients=none))


def whole_weights(model: Model) -> Model:
    """Members of a group reduce the gradients of all weights, not of their own parts of them."""
    whole = Operator(name="weights", weights=model.parameters, kernels=0, seconds=0.0)
    after = Layer(name="weights", operators=(whole,), input=0.0, output=0.0)
    without = _each(model, lambda operator: replace(operator, weights=0.0))
    return replace(without, layers=(*without.layers, after))


def far_switch(level: Level) -> Level:
    """From a GPU to the switch of its PCIe lanes it is 20 us, not 15, at both ends of a message."""
    if level.link.technology is not Technology.INFINIBAND:
        return level
    return replace(level, link=replace(level.link, latency=level.link.latency + 2 * 5e-6))


def one_leaf(level: Level) -> Level:
    """A message between nodes starts as it does below one switch, wherever they are."""
    if level.link.technology is not Technology.INFINIBAND:
        return level
    return replace(level, link=replace(level.link, latency=LEAF))


def contention_8(level: Level) -> Level:
    """Groups that leave a node together have an eighth of the bandwidth each (phi = 8)."""
    if level.link.technology is not Technology.INFINIBAND:
        return level
    return replace(level, link=replace(level.link, contention=8.0))


def host_path_8(level: Level) -> Level:
    """Messages go by way of the host, over an eighth of PCIe."""
    return replace(level, link=replace(level.link, latency=HOST_PATH, bandwidth=16e9 / 8))


def host_path_2(level: Level) -> Level:
    """Messages go by way of the host, over half of PCIe."""
    return replace(level, link=replace(level.link, latency=HOST_PATH, bandwidth=16e9 / 2))


ROWS: Mapping[str, Callable[[ListedLayer], ListedLayer]] = MappingProxyType(
    {"pooling-by-filters": pooling_by_filters, "buffers-apart": buffers_apart}
)
OPERATORS: Mapping[str, Callable[[Operator], Operator]] = MappingProxyType(
    {
        "results-return": results_return,
        "inputs-return": inputs_return,
        "even-parts": even_parts,
        "gathered-whole": gathered_whole,
    }
)
MODELS: Mapping[str, Callable[[Model], Model]] = MappingProxyType({"whole-weights": whole_weights})
LEVELS: Mapping[str, Callable[[Level], Level]] = MappingProxyType(
    {
        "one-leaf": one_leaf,
        "far-switch": far_switch,
        "contention-8": contention_8,
        "host-path-8": host_path_8,
        "host-path-2": host_path_2,
    }
)
KNOWN = (*ROWS, *OPERATORS, *MODELS, *LEVELS)
"""Whom each changes: rows of a layer list, operators, the network, or levels of the machine."""


def rows_of(rows: Iterable[ListedLayer], variants: Iterable[str]) -> tuple[ListedLayer, ...]:
    """The layers of a network as some variants have them."""
    found = tuple(rows)
    for name in variants:
        if name in ROWS:
            found = tuple(map(ROWS[name], found))
    return found


def network_of(model: Model, variants: Iterable[str]) -> Model:
    """The network as some variants have it."""
    for name in variants:
        if name in OPERATORS:
            model = _each(model, OPERATORS[name])
        if name in MODELS:
            model = MODELS[name](model)
    return model


def without_borders(model: Model) -> Model:
    """The network of which a grid exchanges nothing but whole pictures."""
    return _each(model, no_borders)


def machine_of(cluster: Cluster, variants: Iterable[str]) -> Cluster:
    """The machine as some variants have it."""
    levels = cluster.levels
    for name in variants:
        if name in LEVELS:
            levels = tuple(map(LEVELS[name], levels))
    return replace(cluster, levels=levels)


def _each(model: Model, change: Callable[[Operator], Operator]) -> Model:
    layers = tuple(
        replace(layer, operators=tuple(map(change, layer.operators))) for layer in model.layers
    )
    return replace(model, layers=layers)
