"""Operators: the vertices of a model's graph, counted per sample, before anything is split."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from foretrain.errors import InputError

UNDIVIDED = "no tensor axis"
"""How the `unit` of an operator ends that no tensor axis divides: "convolutions have ..."."""


class OperatorKind(StrEnum):
    """What limits an operator, and so which formula prices it."""

    MATMUL = "matmul"
    FUSED_ATTENTION = "fused attention"
    MEMORY = "memory"


class Split(StrEnum):
    """How the tensor axis divides an operator."""

    NONE = "none"
    """Every member repeats the whole operator (its tokens may be divided, see `sequence`)."""
    COLUMNS = "columns"
    """Output features are divided; the input is needed whole."""
    DEPTH = "depth"
    """Input features are divided; the outputs are partial sums that must be added up."""
    HEADS = "heads"
    """Independent parts (attention heads, features between COLUMNS and DEPTH) are divided."""


class Attention(IntEnum):
    """The kernel of the attention core; operators may exist with one of them only."""

    PLAIN = 0
    FLASH = 1


class KernelFamily(IntEnum):
    """Kernels over pictures, whose rates are known apart from those of other kernels."""

    GENERAL = 0
    """Any other: priced by what it computes and moves, fused as its software fuses."""
    CONVOLUTION = 1
    """A window over all channels."""
    SQUARE = 2
    """Such a window of 3 x 3 pixels with stride 1, for which Winograd's algorithm is made."""
    GROUPED = 3
    """A window over some of the channels."""
    DEPTHWISE = 4
    """A window over one channel."""
    NORM = 5
    """Statistics over pixels, then a scale and a shift."""
    FUSIBLE = 6
    """Value by value behind one of the above, which may do its work in passing."""
    PICTURE = 7
    """What remains: pooling, copies, resizing, losses."""


class Reach(IntEnum):
    """How near kernels come to what limits them."""

    WHOLE = 0
    """As near as any: whole vectors are loaded and stored."""
    STRETCHED = 1
    """Kernels of a framework for operands of two widths, or of which one is stretched or strided:
    every value's place and type are worked out on its own."""
    SCANNED = 2
    """Chains of small kernels that hand a state from chunk to chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much data, for one sample.

    Attributes:
        values: elements at the precision of activations.
        fixed: bytes that do not depend on the precision (masks, fp32 statistics).
    """

    values: float = 0.0
    fixed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """The matrix product of one sample: `batch` times (rows x depth) by (depth x columns).

    With weights the rows of a micro-batch's samples are stacked into one product; without weights
    (attention) every sample brings its own `batch` products.

    Attributes:
        rows: rows of the left matrix (tokens, output pixels).
        columns: columns of the right matrix (output features).
        depth: the dimension summed over (input features, times the kernel's area).
        batch: independent products per sample.
        reuse: how often one input value occurs in the left matrix (a convolution's kernel area
            over its stride squared; 1 for a plain product).
    """

    rows: float
    columns: float
    depth: float
    batch: float = 1.0
    reuse: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "depth", "batch", "reuse"):
            if not getattr(self, name) > 0:
                raise InputError(f"Matrices.{name} must be above 0, got {getattr(self, name)}.")

    @property
    def flop(self) -> float:
        """FLOP of the product for one sample; a multiply-add is 2."""
        return 2.0 * self.batch * self.rows * self.columns * self.depth


NOTHING = Size()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """What a grid of devices divides of an operator: the pixels of the picture that it reads.

    Sides and planes are per dimension of a sample (height, width, depth).

    Attributes:
        read: pixels along each side of what it reads.
        written: the same of what it writes.
        channels: of what it reads and of what it writes.
        borders: planes of its input that windows at the lower and the upper edge of a part reach
            beyond it.
        gradients: planes of the gradient of its result that the same windows need to give all
            gradients of the part's own input.
        averaged: whether it takes the mean over all pixels, so that members add up their sums.
        returned: whether gradients of borders go back to those who sent the pixels: only the owner
            of a window knows where in it a maximum is.

    Source: dryden2019, section 3 (which borders a window exchanges in either pass).
    """

    read: tuple[int, ...]
    written: tuple[int, ...]
    channels: tuple[int, int]
    borders: tuple[tuple[int, int], ...] = ()
    gradients: tuple[tuple[int, int], ...] = ()
    averaged: bool = False
    returned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One step of the network. All counts are of the forward pass of one sample, whole.

    Attributes:
        name: shown to users, unique within its layer.
        kind: which formula prices it; most only move memory.
        matrices: the product of a MATMUL; its backward pass is two products of the same FLOP.
        weights: parameters that are read (and trained).
        flop: FLOP of the forward pass; a MATMUL's follows from its matrices.
        backward_flop: FLOP of the backward pass.
        forward: what a kernel that is not a MATMUL reads and writes.
        backward: the same for the backward pass.
        kept: what the backward pass needs and must be kept until then.
        gathered: whether each member of the tensor axis keeps the whole input that they gathered,
            though tokens are divided between products.
        passing: what is there beside all that its layer keeps while its gradients are found; known
            where software runs operation by operation.
        kernels: kernels launched in the forward pass (the backward pass launches as many, twice
            as many for a MATMUL).
        split: how the tensor axis divides it.
        units: indivisible parts along the tensor axis, which its degree must divide; 0 if none.
        unit: what those parts are, for messages.
        sequence: whether sequence parallelism may divide its tokens where tensor parallelism
            repeats it.
        selective: whether selective recomputation runs it again.
        dropped: whether selective recomputation drops what it keeps.
        shared_input: whether another operator needs what it keeps, at the precision of
            activations; a product that reads fewer bits then keeps it in both forms.
        attention: the kernel with which this operator exists; None if with any.
        output: values handed on where the tensor axis must gather or add up (DEPTH), or the input
            values whose gradients it must add up (COLUMNS).
        trained: parameters that are trained; None for all weights. Frozen ones have no gradient
            and no optimizer state.
        stored: bytes of one frozen weight in memory; None for the precision of the workload.
        experts: experts that the expert axis divides, whose products are `matrices.batch`; 0 for
            an operator that every token passes.
        imbalance: tokens of the busiest member of the expert axis over the mean.
        routed: values that the expert axis exchanges before (dispatch) or after (combine) it.
        copies: experts that each of those goes to, a token counted once for each of them.
        groups: equal parts of all experts, neighbours each.
        most: of these in which a token's experts may lie.
        keys: values of keys and values that queries of other tokens meet: what the context axis
            passes around.
        queries: values of queries and outputs, which it exchanges where it divides heads.
        family: the kernels that run it.
        window: pixels under the window of a convolution; 1 for anything else.
        wide: whether its product reads activations as they are, however narrow others read them.
        first: whether its input needs no gradient, being the samples or what is frozen.
        exponentials: that a fused kernel takes beside its products, in either pass.
        single: whether it is one kernel that reads activations as they are, whatever the software
            makes of others.
        reach: how near its kernels come to what limits them.
        seconds: measured of the forward pass of one sample on one of the devices, which formulas
            then leave alone; None where nobody measured it.
        backward_seconds: the same of the backward pass; 0 without `seconds`.
        pixels: what a grid divides of it; None if it reads no picture.
        filters: channels of its result that filter parallelism divides; 0 if it divides none.
        channels: channels of its input that channel parallelism divides; 0 if it divides none.
    """

    name: str
    kind: OperatorKind = OperatorKind.MEMORY
    matrices: Matrices | None = None
    weights: float = 0.0
    flop: float = 0.0
    backward_flop: float = 0.0
    forward: Size = NOTHING
    backward: Size = NOTHING
    kept: Size = NOTHING
    kernels: int = 1
    split: Split = Split.NONE
    units: int = 0
    unit: str = ""
    sequence: bool = False
    selective: bool = False
    dropped: bool = False
    shared_input: bool = False
    attention: Attention | None = None
    output: float = 0.0
    trained: float | None = None
    stored: float | None = None
    experts: int = 0
    imbalance: float = 1.0
    routed: float = 0.0
    copies: int = 1
    groups: int = field(default=1, metadata={"if_set": True})
    most: int = field(default=1, metadata={"if_set": True})
    keys: float = 0.0
    queries: float = 0.0
    family: KernelFamily = KernelFamily.GENERAL
    window: float = 1.0
    wide: bool = False
    first: bool = False
    exponentials: float = field(default=0.0, metadata={"if_set": True})
    single: bool = field(default=False, metadata={"if_set": True})
    reach: Reach = Reach.WHOLE
    seconds: float | None = field(default=None, metadata={"if_set": True})
    backward_seconds: float = field(default=0.0, metadata={"if_set": True})
    pixels: Pixels | None = field(default=None, metadata={"if_set": True})
    filters: int = field(default=0, metadata={"if_set": True})
    channels: int = field(default=0, metadata={"if_set": True})
    gathered: bool = field(default=False, metadata={"if_set": True})
    passing: Size | None = field(default=None, metadata={"if_set": True})

    def __post_init__(self) -> None:
        if (self.kind is OperatorKind.MATMUL) != (self.matrices is not None):
            raise InputError(f"Operator '{self.name}': a matmul, and only a matmul, has matrices.")
        for name in ("weights", "flop", "backward_flop", "output", "routed", "keys", "queries"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"Operator '{self.name}': {name} must be at least 0, got {getattr(self, name)}."
                )
        if not 0 <= self.trainable <= self.weights:
            raise InputError(
                f"Operator '{self.name}': trained must be between 0 and its {self.weights:g} "
                f"weights, got {self.trained}."
            )
        for name in ("seconds", "backward_seconds"):
            if not (getattr(self, name) or 0.0) >= 0:
                raise InputError(
                    f"Operator '{self.name}': {name} must be at least 0 s, "
                    f"got {getattr(self, name)}."
                )
        if not self.imbalance >= 1:
            raise InputError(
                f"Operator '{self.name}': imbalance must be at least 1, got {self.imbalance}."
            )

    @property
    def trainable(self) -> float:
        """Parameters that are trained."""
        return self.weights if self.trained is None else self.trained

    @property
    def tensors(self) -> int:
        """Tensors of them: a product's matrices and its bias, or a norm's scale and shift.

        Of experts, those of one.
        """
        if not self.trainable:
            return 0
        product = self.matrices
        if product is None:
            return 2
        return 1 + (self.weights > product.batch * product.depth * product.columns)


def matmul(
    name: str,
    matrices: Matrices,
    *,
    weights: float = 0.0,
    kept: Size = NOTHING,
    split: Split = Split.NONE,
    units: int = 0,
    unit: str = "",
    selective: bool = False,
    attention: Attention | None = None,
) -> Operator:
    """A matrix product; what the tensor axis must gather follows from its split."""
    needed = {
        Split.COLUMNS: matrices.batch * matrices.rows * matrices.depth / matrices.reuse,
        Split.DEPTH: matrices.batch * matrices.rows * matrices.columns,
    }
    return Operator(
        name=name,
        kind=OperatorKind.MATMUL,
        matrices=matrices,
        weights=weights,
        flop=matrices.flop,
        backward_flop=2.0 * matrices.flop,
        kept=kept,
        split=split,
        units=units,
        unit=unit,
        selective=selective,
        attention=attention,
        output=needed.get(split, 0.0),
    )
