"""Models known by their totals alone: parameters, FLOP and activations of one sample.

Such a model becomes equal products, each followed by one operator that moves as much memory as the
norms, activations and additions of its family do. What is predicted of it has a wider interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import UNDIVIDED, Matrices, Operator, Size, matmul

SPREAD = 2.0
"""How much wider the interval is than that of a model whose structure is known."""

UNSPLIT = f"a model known by its totals has {UNDIVIDED}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFamily:
    """What networks of one kind have in common, for each value that their products write.

    Attributes:
        kept: values kept for the backward pass.
        forward: values that everything but products reads and writes in the forward pass.
        backward: the same in the backward pass.
        products: of one layer.
        layers: where their number is not given.
        flatness: inputs of a product over its outputs.
    """

    kept: float
    forward: float
    backward: float
    products: int
    layers: int
    flatness: float


IMAGES = NetworkFamily(kept=1.9, forward=5.4, backward=8.3, products=3, layers=18, flatness=4.0)
"""The library's ResNet-50, whose kernels of 3 x 3 pixels make products narrow and deep."""

TEXT = NetworkFamily(kept=1.6, forward=2.4, backward=3.8, products=4, layers=24, flatness=1.0)
"""The mean of the library's GPT and Llama models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All that is known of a model.

    Attributes:
        parameters: of the whole model.
        flop: of the forward pass of one sample; a multiply-add is 2.
        activations: values that convolutions and linear layers write in that pass.
        layers: layers that a pipeline may cut at; None if unknown, and then it cannot be cut.
    """

    parameters: float
    flop: float
    activations: float
    layers: int | None = None

    def __post_init__(self) -> None:
        for name in ("parameters", "flop", "activations", "layers"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"Totals.{name} must be above 0, got {value}.")
        if self.flop < 2 * self.parameters:
            raise InputError(
                f"Totals.flop must be at least 2 for each parameter, got {self.flop:g} for "
                f"{self.parameters:g}: count the forward pass of one sample, a multiply-add as 2."
            )


def model_of_totals(totals: Totals, *, tokens: int | None = None) -> Model:
    """A model that has these totals.

    Args:
        totals: what is known of it.
        tokens: tokens per sample of a model of text; None for a network of images.
    """
    family = IMAGES if tokens is None else TEXT
    layers = totals.layers or 1
    products = family.products * (1 if totals.layers else family.layers)
    part = Totals(
        parameters=totals.parameters / (layers * products),
        flop=totals.flop / (layers * products),
        activations=totals.activations / (layers * products),
    )
    block = Layer(
        name="part",
        operators=tuple(
            operator
            for position in range(1, products + 1)
            for operator in _pair(part, family, position)
        ),
        repeats=layers,
        input=part.activations,
        output=part.activations,
        recomputable=totals.layers is not None,
    )
    name = f"a model of {totals.parameters / 1e6:.4g} M parameters"
    return Model(
        name=name,
        layers=(block,),
        tokens=tokens or 1,
        spread=SPREAD,
        known_by="its totals only",
        dimensions=2 if tokens is None else 0,
    )


def _pair(part: Totals, family: NetworkFamily, position: int) -> tuple[Operator, Operator]:
    """A product with its share of everything, and what moves its output about."""
    columns = (part.parameters / family.flatness) ** 0.5
    values = part.activations
    product = matmul(
        f"product {position}",
        Matrices(
            rows=part.flop / (2.0 * part.parameters),
            columns=columns,
            depth=family.flatness * columns,
        ),
        weights=part.parameters,
        kept=Size(values=values),
        units=1,
        unit=UNSPLIT,
    )
    moved = Operator(
        name=f"norm and activation {position}",
        forward=Size(values=family.forward * values),
        backward=Size(values=family.backward * values),
        kept=Size(values=(family.kept - 1.0) * values),
        kernels=2,
    )
    return product, moved
