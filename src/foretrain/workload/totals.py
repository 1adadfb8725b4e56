"""Networks that are known by their totals, or by a list of operators.

Models known by their totals alone: parameters, FLOP and activations of one sample.

Such a model becomes equal products, each followed by one operator that moves as much memory as the
norms, activations and additions of its family do. What is predicted of it has a wider interval.

Inventories: networks known by a list of their operators rather than by how they are built.

Somebody's published code was followed once, kernel by kernel, and what it does was counted. That
tells as much of the time as the code does, for images of one size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.errors import InputError
from foretrain.workload.convolution import operators
from foretrain.workload.convolution.operators import Picture, Window
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import UNDIVIDED, KernelFamily, Matrices, Operator, Size, matmul

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


UNSPLIT_LIST = f"products that were counted kernel by kernel have {UNDIVIDED}"

FAMILIES: Mapping[str, KernelFamily] = MappingProxyType(
    {
        "batch norm": KernelFamily.NORM,
        "group norm": KernelFamily.NORM,
        "pointwise": KernelFamily.FUSIBLE,
    }
)
"""The families of kinds of moves; every other kind runs as it is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """Equal convolutions of a network.

    Attributes:
        picture: what each reads.
        result: what each writes.
        window: pixels under its window, by dimension.
        groups: groups of channels that it keeps apart.
        count: how many there are.
    """

    picture: Picture
    result: Picture
    window: tuple[int, ...]
    groups: int = 1
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Equal matrix products of a network.

    Attributes:
        matrices: of one sample.
        weights: whether the right factor is a parameter.
        count: how many there are.
    """

    matrices: Matrices
    weights: bool
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What kernels of one kind read and write in one pass of one sample.

    Attributes:
        half: values of 16 bits in mixed precision.
        full: values of 32 bits whatever the precision.
        kernels: how many there are.
    """

    half: float = 0.0
    full: float = 0.0
    kernels: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Every kernel of one kind that only moves data: norms, activations, copies, ...

    Attributes:
        name: of the kind.
        forward: in the forward pass.
        backward: in the backward pass.
    """

    name: str
    forward: Traffic
    backward: Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """A network for images of one size.

    Attributes:
        name: in its published code.
        image: pixels per side.
        parameters: of the whole network.
        kept: bytes that a sample leaves for the backward pass in mixed precision.
        convolutions: of one sample.
        products: of one sample.
        moves: of one sample.
        source: the code that was followed.
    """

    name: str
    image: int
    parameters: float
    kept: float
    convolutions: tuple[Convolution, ...] = ()
    products: tuple[Product, ...] = ()
    moves: tuple[Move, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not self.parameters > 0:
            raise InputError(f"Inventory '{self.name}': parameters must be above 0.")
        if not (self.convolutions or self.products):
            raise InputError(f"Inventory '{self.name}' computes nothing.")

    @property
    def flop(self) -> float:
        """FLOP of convolutions and products in the forward pass of one sample."""
        return sum(
            layer.repeats * operator.flop
            for layer in self.model.layers
            for operator in layer.operators
        )

    @property
    def model(self) -> Model:
        """The network as the layers that are priced; nothing tells where it could be cut."""
        return Model(
            name=self.name,
            layers=tuple(
                Layer(name=each.name, operators=(each,), repeats=count, input=0.0, output=0.0)
                for each, count in self._operators()
            ),
            source=self.source,
            dimensions=2,
        )

    def _operators(self) -> Iterator[tuple[Operator, int]]:
        """Every operator, and how many of it there are."""
        named = 0.0
        samples = Picture(channels=3, sides=(self.image, self.image))
        for index, each in enumerate(self.convolutions, start=1):
            sides = zip(each.picture.sides, each.result.sides, strict=True)
            window = Window(size=each.window, stride=tuple(-(-side // to) for side, to in sides))
            pictures = (each.picture, each.result)
            convolution = operators.convolution(
                f"convolution {index}", pictures, window, groups=each.groups
            )
            named += each.count * convolution.weights
            if each.picture == samples:
                # The samples themselves need no gradient.
                convolution = replace(convolution, first=True, channels=0)
            yield convolution, each.count
        for index, of in enumerate(self.products, start=1):
            weights = of.matrices.depth * of.matrices.columns if of.weights else 0.0
            named += of.count * weights
            yield (
                matmul(
                    f"product {index}", of.matrices, weights=weights, units=1, unit=UNSPLIT_LIST
                ),
                of.count,
            )
        for move in self.moves:
            # An operator launches as many kernels back as forth: here their mean.
            moved = Operator(
                name=move.name,
                forward=Size(values=move.forward.half, fixed=4.0 * move.forward.full),
                backward=Size(values=move.backward.half, fixed=4.0 * move.backward.full),
                kernels=round((move.forward.kernels + move.backward.kernels) / 2),
                family=FAMILIES.get(move.name, KernelFamily.PICTURE),
            )
            yield moved, 1
        # Parameters of norms and positions, whose use `moves` count, and all that is kept.
        rest = max(0.0, self.parameters - named)
        kept = Size(fixed=self.kept)
        yield Operator(name="norms and positions", weights=rest, kept=kept, kernels=0), 1
