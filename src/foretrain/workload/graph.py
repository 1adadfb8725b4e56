"""Models: layers of operators in order, repeated layers folded; the same model at other depths.

A formula prices all operators of a model at once, so it reads them as columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from operator import or_

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.workload.operator import Attention, Matrices, Operator, OperatorKind, Pixels, Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Operators that stay together on one pipeline stage.

    Attributes:
        name: shown to users.
        operators: in the order in which they run.
        repeats: how many such layers follow one another.
        input: values per sample that the layer reads from the one before.
        output: values per sample that it hands on, also over the link between two stages.
        cuttable: whether a stage is counted in such layers. The layers around them (embedding,
            head) stay with the first or the last of them.
        recomputable: whether full recomputation keeps only its input.
    """

    name: str
    operators: tuple[Operator, ...]
    repeats: int = 1
    input: float
    output: float
    cuttable: bool = True
    recomputable: bool = True

    def __post_init__(self) -> None:
        if not self.repeats >= 1:
            raise InputError(f"Layer '{self.name}': repeats must be at least 1.")

    @property
    def weights(self) -> float:
        """Parameters of one such layer."""
        return sum(operator.weights for operator in self.operators)

    @property
    def trainable(self) -> float:
        """Parameters of one such layer that are trained."""
        return sum(operator.trainable for operator in self.operators)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A neural network for samples of one shape.

    Attributes:
        name: catalogue name, or whatever the reader found.
        layers: in order; `repeats` folds equal neighbours.
        tokens: tokens per sample; 1 for images.
        tied: parameters that the last layer shares with the first (counted once; where the two
            stand on different stages each keeps a copy and the gradients are added up).
        source: where the structure comes from.
        spread: factor by which the interval of what is predicted of it is wider, for a model whose
            structure is not known.
        known_by: what it is known by, where that is not its structure.
        assumed: what was assumed of its structure, in words.
        longest: tokens of the longest sample that it has learned positions for; None for any.
        dimensions: along which windows slide over a sample: 1 for sound, 2 for pictures, 3 for
            volumes; 0 for tokens of text and for rows of a table.
    """

    name: str
    layers: tuple[Layer, ...]
    tokens: int = 1
    tied: float = 0.0
    source: str = ""
    spread: float = 1.0
    # Words about the model: the fingerprint of a question leaves out what a noun does not show.
    known_by: str = field(default="", repr=False)
    assumed: tuple[str, ...] = field(default=(), repr=False)
    longest: int | None = None
    dimensions: int = 0

    def __post_init__(self) -> None:
        if self.longest is not None and self.tokens > self.longest:
            raise InputError(
                f"model '{self.name}' has learned positions for {self.longest} tokens; sequence is "
                f"{self.tokens}. Use a shorter sequence, or state workload.positions = "
                f"{self.tokens} for a model with a longer table."
            )
        if not self.spread >= 1:
            raise InputError(f"Model '{self.name}': spread must be at least 1, got {self.spread}.")
        kinds = [layer.cuttable for layer in self.layers]
        if not any(kinds):
            raise InputError(f"Model '{self.name}' has no layer that a pipeline could be cut at.")
        inner = kinds[kinds.index(True) : len(kinds) - kinds[::-1].index(True)]
        if not all(inner):
            raise InputError(
                f"Model '{self.name}': layers that cannot be cut must stand first or last."
            )

    def __hash__(self) -> int:
        """Of what tells most models apart: what is known of a model is asked for often."""
        return hash((self.name, self.tokens, self.tied, len(self.layers), self.source))

    @property
    def operators(self) -> Iterator[tuple[Layer, Operator]]:
        """Every distinct operator with its layer."""
        return ((layer, operator) for layer in self.layers for operator in layer.operators)

    @property
    def kernels(self) -> frozenset[Attention]:
        """Attention kernels that decide which operators exist; none for a network without."""
        found = {operator.attention for _, operator in self.operators}
        return frozenset(kernel for kernel in found if kernel is not None)

    @property
    def attends(self) -> bool:
        """Whether tokens meet one another, so that the context axis can divide them."""
        return any(operator.keys for _, operator in self.operators)

    @property
    def experts(self) -> bool:
        """Whether it has experts for the expert axis to divide."""
        return any(operator.experts for _, operator in self.operators)

    @property
    def parameters(self) -> float:
        """Parameters of the whole model, tied ones counted once."""
        return sum(layer.repeats * layer.weights for layer in self.layers) - self.tied

    @property
    def multiplied(self) -> float:
        """Share of its parameters that products of matrices use; the others are looked up."""
        used = sum(
            layer.repeats * operator.weights
            for layer, operator in self.operators
            if operator.matrices is not None
        )
        return min(1.0, used / self.parameters) if self.parameters else 1.0

    @property
    def active(self) -> float:
        """Parameters that one token meets: all but those of the experts it is not sent to."""
        met = 0.0
        for layer, operator in self.operators:
            rows = operator.matrices.rows if operator.matrices else 0.0
            share = rows / self.tokens if operator.experts else 1.0
            met += layer.repeats * operator.weights * share
        return met - self.tied

    @property
    def tied_trained(self) -> float:
        """Parameters of `tied` that are trained in the first and in the last layer."""
        ends = (self.layers[0].trainable, self.layers[-1].trainable)
        return min(self.tied, *ends)

    @property
    def trainable(self) -> float:
        """Parameters that are trained, tied ones counted once."""
        trained = sum(layer.repeats * layer.trainable for layer in self.layers)
        return trained - self.tied_trained

    @property
    def cuttable_layers(self) -> int:
        """Layers that stages are counted in."""
        return sum(layer.repeats for layer in self.layers if layer.cuttable)


def growing(model: Model) -> Layer:
    """The layer that a deeper model has more of: the one that repeats most, first of equals.

    Raises:
        InputError: no layer repeats, so that more of the same means nothing.
    """
    most = max((each for each in model.layers if each.cuttable), key=lambda each: each.repeats)
    if most.repeats == 1:
        raise InputError(f"no layer of {model.name} repeats, so it cannot have more of the same.")
    return most


def least_layers(model: Model) -> int:
    """Layers that can be cut if the one that grows stands there once."""
    return model.cuttable_layers - growing(model).repeats + 1


def steady_layers(model: Model) -> int:
    """Layers of a chunk from which on more of them move no layer of another kind to another chunk.

    What stands before the layer that grows is then all in the first chunk, and what stands after
    it in the last.
    """
    kinds = [each for each in model.layers if each.cuttable]
    place = kinds.index(growing(model))
    before, after = (sum(each.repeats for each in k) for k in (kinds[:place], kinds[place + 1 :]))
    return 1 + max(before, after)


def with_layers(model: Model, layers: int) -> Model:
    """A model with so many layers that can be cut; all but the one that grows stay as they are.

    Raises:
        InputError: no layer repeats, or the others alone are as many.
    """
    if layers == model.cuttable_layers:
        return model
    most, least = growing(model), least_layers(model)
    if layers < least:
        raise InputError(f"{model.name} has at least {least} layers, got {layers}.")
    grown = replace(most, repeats=layers - least + 1)
    return replace(
        model,
        name=f"{model.name} with {layers} layers",
        layers=tuple(grown if each is most else each for each in model.layers),
    )


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_SPLITS = tuple(Split)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operators:
    """Every distinct operator of a model; columns of shape [operator, 1]. Fields as `Operator`'s.

    Attributes:
        layer: position of each operator's layer. [operator]
        matmul: whether it is a matrix product.
        fused: whether it is fused attention.
        attention: the kernel it exists with, -1 for any.
        split: position in `Split`.
        trained: parameters that are trained.
        stored: bytes of one weight in memory; 0 for the precision of the workload.
        seconds: measured of the forward pass; -1 where nobody measured it.
        pixels: what a grid divides of each; None for what comes after the first operator that
            needs the whole of what it reads. [operator]
        until: layers of the model up to the operator's own, that one included.
    """

    layer: tuple[int, ...]
    pixels: tuple[Pixels | None, ...]
    matmul: Flags
    fused: Flags
    rows: Floats
    columns: Floats
    depth: Floats
    batch: Floats
    reuse: Floats
    weights: Floats
    flop: Floats
    backward_flop: Floats
    forward_values: Floats
    forward_fixed: Floats
    backward_values: Floats
    backward_fixed: Floats
    kept_values: Floats
    kept_fixed: Floats
    passing_values: Floats
    passing_fixed: Floats
    kernels: Floats
    split: Floats
    sequence: Flags
    selective: Flags
    dropped: Flags
    shared_input: Flags
    attention: Floats
    output: Floats
    trained: Floats
    stored: Floats
    experts: Floats
    imbalance: Floats
    routed: Floats
    copies: Floats
    keys: Floats
    queries: Floats
    family: Floats
    window: Floats
    wide: Flags
    gathered: Flags
    first: Flags
    exponentials: Floats
    single: Flags
    reach: Floats
    seconds: Floats
    backward_seconds: Floats
    filters: Floats
    channels: Floats
    tensors: Floats
    groups: Floats
    most: Floats
    until: Floats

    def take(self, rows: NDArray[np.intp]) -> Operators:
        """Some of the operators, in order."""
        columns = {name: getattr(self, name)[rows] for name in _NUMBERS}
        return Operators(
            layer=tuple(self.layer[row] for row in rows),
            pixels=tuple(self.pixels[row] for row in rows),
            **columns,
        )

    @property
    def measured(self) -> Flags:
        """Those whose seconds somebody measured. [operator, 1]"""
        return np.greater_equal(self.seconds, 0)

    @property
    def narrowed(self) -> Flags:
        """Products of weights, which may read fewer bits than activations have. [operator, 1]"""
        return np.logical_and(self.matmul & (self.weights > 0), ~self.wide)

    def split_is(self, *splits: Split) -> Flags:
        """Which operators the tensor axis divides in one of these ways. [operator, 1]"""
        return reduce(or_, (self.split == _SPLITS.index(split) for split in splits))


def operators_of(model: Model) -> Operators:
    """The operators of a model in order, each distinct one once."""
    pairs = [
        (position, operator)
        for position, layer in enumerate(model.layers)
        for operator in layer.operators
    ]
    until = [*accumulate(layer.repeats for layer in model.layers)]
    rows = [(*_numbers(operator), until[position]) for position, operator in pairs]
    table = np.array(rows, np.float64).T[:, :, np.newaxis]
    columns = dict(zip(_NUMBERS, table, strict=True))
    flags = {name: columns.pop(name) > 0 for name in _FLAGS}
    return Operators(
        layer=tuple(position for position, _ in pairs),
        pixels=tuple(divisible_pixels(operator for _, operator in pairs)),
        **flags,
        **columns,
    )


def divisible_pixels(operators: Iterable[Operator]) -> Iterator[Pixels | None]:
    """What a grid divides of each operator, up to the first that needs all of what it reads."""
    front = True
    for operator in operators:
        front = front and operator.pixels is not None
        yield operator.pixels if front else None


_NUMBERS = tuple(name for name in Operators.__dataclass_fields__ if name not in ("layer", "pixels"))
_FLAGS = tuple(name for name, kind in Operators.__annotations__.items() if kind == "Flags")


_SINGLE = Matrices(rows=1.0, columns=1.0, depth=1.0)
"""What stands in the columns of an operator without a product."""


def _numbers(operator: Operator) -> tuple[float, ...]:
    """One operator's columns, in the order of the fields of `Operators`."""
    product = operator.matrices or _SINGLE
    sizes = (operator.forward, operator.backward, operator.kept, operator.passing)
    return (
        operator.kind is OperatorKind.MATMUL,
        operator.kind is OperatorKind.FUSED_ATTENTION,
        *(product.rows, product.columns, product.depth, product.batch, product.reuse),
        operator.weights,
        operator.flop,
        operator.backward_flop,
        *(getattr(size, amount, 0.0) for size in sizes for amount in ("values", "fixed")),
        operator.kernels,
        _SPLITS.index(operator.split),
        operator.sequence,
        operator.selective,
        operator.dropped,
        operator.shared_input,
        -1.0 if operator.attention is None else float(operator.attention),
        operator.output,
        operator.trainable,
        operator.stored or 0.0,
        *(operator.experts, operator.imbalance, operator.routed, operator.copies),
        operator.keys,
        operator.queries,
        operator.family,
        operator.window,
        operator.wide,
        operator.gathered,
        operator.first,
        operator.exponentials,
        operator.single,
        operator.reach,
        -1.0 if operator.seconds is None else operator.seconds,
        operator.backward_seconds,
        *(operator.filters, operator.channels),
        *(operator.tensors, operator.groups, operator.most),
    )
