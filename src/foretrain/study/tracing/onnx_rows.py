"""Nodes of an ONNX graph as rows of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.workload.operator import Size
from foretrain.workload.traced.trace import (
    RowOption,
    TracedModule,
    TracedParameter,
    TracedTensor,
    TraceRow,
)

VIEWS: Final = frozenset(
    """Reshape Flatten Squeeze Unsqueeze Transpose Identity Split Slice Shape Size Constant
    ConstantOfShape Expand Range Dropout Unflatten NonZero""".split()  # noqa: SIM905
)
"""Other looks at the same memory; what a Dropout drops is drawn in passing."""

PRODUCTS: Final[Mapping[str, str]] = {
    "Conv": "aten.convolution",
    "ConvTranspose": "aten.convolution",
    "Gemm": "aten.mm",
    "MatMul": "aten.mm",
}
NORMS: Final[Mapping[str, str]] = {
    "BatchNormalization": "aten.native_batch_norm",
    "InstanceNormalization": "aten.native_group_norm",
    "GroupNormalization": "aten.native_group_norm",
    "LayerNormalization": "aten.native_layer_norm",
    "RMSNormalization": "aten._fused_rms_norm",
    "SimplifiedLayerNormalization": "aten._fused_rms_norm",
}
MOVING: Final[Mapping[str, str]] = {
    "MaxPool": "aten.max_pool2d",
    "AveragePool": "aten.avg_pool2d",
    "GlobalAveragePool": "aten._adaptive_avg_pool2d",
    "GlobalMaxPool": "aten.adaptive_max_pool2d",
    "Gather": "aten.embedding",
    "GatherElements": "aten.gather",
    "GatherND": "aten.index",
    "ScatterElements": "aten.scatter",
    "ScatterND": "aten.index_put",
    "Resize": "aten.upsample_nearest2d",
    "Upsample": "aten.upsample_nearest2d",
    "DepthToSpace": "aten.pixel_shuffle",
    "SpaceToDepth": "aten.pixel_unshuffle",
    "TopK": "aten.topk",
    "CumSum": "aten.cumsum",
    "GridSample": "aten.grid_sampler_2d",
}
RESULTS: Final = frozenset("Relu Sigmoid Tanh Softmax LogSoftmax Exp Sqrt Reciprocal".split())  # noqa: SIM905
"""Value by value, or nearly: what they wrote is kept."""

NOTHING: Final = frozenset(
    """Add Sub Neg Concat Pad Cast Where Sum ReduceMean ReduceSum Equal Less Greater And Or Not
    Floor Ceil Round Sign Trilu OneHot LessOrEqual GreaterOrEqual ArgMax ArgMin IsNaN""".split()  # noqa: SIM905
)
"""Value by value, or nearly: nothing is kept."""

INPUTS: Final = frozenset(
    """Mul Div Pow Erf Gelu Elu Selu Celu LeakyRelu PRelu HardSigmoid HardSwish Mish Softplus
    Softsign
    Swish Log Abs Sin Cos Clip Min Max ReduceMax ReduceMin ReduceL2 ReduceProd ThresholdedRelu Tan
    ReduceSumSquare Mod LpNormalization ReduceLogSumExp BitShift""".split()  # noqa: SIM905
)
"""As above, but what they read is kept."""


class OnnxGraph:
    """A graph with the shape of every tensor.

    Attributes:
        nodes: in an order in which they can run.
        where: the file, for messages.
        inputs: storages of the samples.
        parameters: tables of numbers that are trained.
    """

    def __init__(self, graph: Any, where: str) -> None:
        self.nodes = list(graph.node)
        self.where = where
        self._storages: dict[str, int] = {}
        tables = {each.name: each for each in graph.initializer}
        self._tensors: dict[str, TracedTensor | None] = {
            name: _of(each.data_type, tuple(each.dims)) for name, each in tables.items()
        }
        for each in (*graph.input, *graph.value_info, *graph.output):
            if each.name not in tables:
                self._tensors[each.name] = _typed(each.type.tensor_type)
        given = [each.name for each in graph.input if each.name not in tables]
        self.inputs = frozenset(self._storage(name) for name in given)
        # Statistics of a norm are no parameters, nor is a single number or a table of places.
        idle = {
            name
            for node in graph.node
            if node.op_type == "BatchNormalization"
            for name in node.input[3:]
        }
        self.parameters = tuple(
            TracedParameter(name=name, storage=self._storage(name), count=float(told.elements))
            for name in tables
            if (told := self._tensors[name]) is not None
            and told.real
            and told.elements > 1
            and name not in idle
        )

    def tensor(self, name: str, node: Any) -> TracedTensor:
        """A tensor by its name.

        Raises:
            InputError: its shape is not known.
        """
        found = self._tensors.get(name)
        if found is None:
            raise InputError(
                f"{self.where}: operator {node.op_type} ('{node.name}') has an output whose shape "
                "does not follow from its inputs. Export the model with fixed shapes, or without "
                "operators of somebody's own."
            )
        return replace(found, storage=self._storage(name))

    def is_parameter(self, name: str) -> bool:
        """Whether a tensor is trained."""
        return any(each.name == name for each in self.parameters)

    def alias(self, name: str, other: str) -> None:
        """A tensor lies where another one does."""
        self._storages[name] = self._storage(other)

    def _storage(self, name: str) -> int:
        return self._storages.setdefault(name, len(self._storages) + 1)


FLOATS: Final = frozenset({1, 10, 11, 16})
"""Types of tensors: fp32, fp16, fp64 and bf16, any of which is the precision of activations."""


def _typed(kind: Any) -> TracedTensor | None:
    sides = [each.dim_value if each.HasField("dim_value") else None for each in kind.shape.dim]
    if not kind.HasField("shape") or any(side is None for side in sides):
        return None
    return _of(kind.elem_type, tuple(side or 0 for side in sides))


def _of(kind: int, shape: tuple[int, ...]) -> TracedTensor:
    real = kind in FLOATS
    return TracedTensor(storage=0, shape=shape, width=4.0 if real else 8.0, narrow=real, real=real)


def rows_of(graph: OnnxGraph) -> Iterator[TraceRow]:
    """The operators of a graph, those of constants apart."""
    learned = {each.storage for each in graph.parameters}
    trained = set(learned)
    live = {*graph.inputs, *learned}
    for node in graph.nodes:
        views = node.op_type in VIEWS or _picks(graph, node)
        if views and node.input and node.input[0]:
            for name in node.output:
                graph.alias(name, node.input[0])
        if node.op_type in {"Constant", "Shape", "Size", "ConstantOfShape", "Range"}:
            continue
        reads = [graph.tensor(name, node) for name in node.input if name]
        if live.isdisjoint(each.storage for each in reads):
            continue
        writes = [graph.tensor(name, node) for name in node.output if name]
        live |= {each.storage for each in writes}
        needs = any(each.storage in trained for each in reads)
        comes = any(each.storage in trained - learned for each in reads)
        if needs:
            trained |= {each.storage for each in writes}
        row = _row(node, reads, writes, needs=needs, comes=comes)
        yield replace(row, view=views, kept=() if views else row.kept)


def _picks(graph: OnnxGraph, node: Any) -> bool:
    """Whether it picks one part of a tensor, which is no copy."""
    one = node.op_type == "Gather" and graph.tensor(node.input[1], node).elements == 1
    return one and not graph.is_parameter(node.input[0])


def _row(
    node: Any,
    reads: list[TracedTensor],
    writes: list[TracedTensor],
    *,
    needs: bool,
    comes: bool,
) -> TraceRow:
    """One node; `needs` a backward pass, of which something `comes` back to its inputs."""
    kind = node.op_type
    named = {**PRODUCTS, **NORMS, **MOVING}.get(kind)
    moved = [*reads, *writes]
    # The module that a node's name tells: `/layer1/layer1.0/conv/Conv` is in `layer1.0.conv`.
    *around, _ = node.name.strip("/").split("/")
    found: list[str] = []
    for each in around:
        own = each.split(".")
        shared = next((n for n in range(len(own), 0, -1) if found[-n:] == own[:n]), 0)
        found += own[shared:]
    row = TraceRow(
        name=named or f"onnx.{kind}",
        module=".".join(found),
        reads=tuple(reads),
        writes=tuple(writes[:1] if kind in NORMS else writes),
        pointwise=kind in RESULTS | NOTHING | INPUTS,
        kept=tuple(_kept(kind, reads, writes)) if needs else (),
        options=_options(node),
        returned=_sum(moved) if needs else None,
        returns=1 if needs else 0,
        input_gradient=comes,
    )
    if kind in {"Gemm", "MatMul"}:
        return _product(node, row)
    if kind == "Conv" and reads[0].shape[1] != reads[1].shape[1] * row.number("groups"):
        raise InputError(
            f"operator Conv ('{node.name}') reads {reads[0].shape[1]} channels through windows of "
            f"{reads[1].shape[1]} and {row.number('groups'):g} groups: shapes contradict."
        )
    return row


def _kept(kind: str, reads: list[TracedTensor], writes: list[TracedTensor]) -> list[TracedTensor]:
    """What an operator keeps for its backward pass."""
    if kind in RESULTS:
        return writes
    if kind in VIEWS or kind in NOTHING or kind in {"AveragePool", "GlobalAveragePool", "Resize"}:
        return []
    if kind in {"Mul", "Div"} and any(each.elements <= 1 for each in reads):
        return []
    return reads


def _sum(tensors: list[TracedTensor]) -> Size:
    return Size(
        values=sum(each.size.values for each in tensors),
        fixed=sum(each.size.fixed for each in tensors),
    )


def _options(node: Any) -> Mapping[str, RowOption]:
    """What decides the work of a window that slides over a picture."""
    if node.op_type not in {"Conv", "ConvTranspose", "MaxPool", "AveragePool"}:
        return {}
    told = {each.name: each for each in node.attribute}
    pads = tuple(told["pads"].ints) if "pads" in told else (0, 0)
    found: dict[str, RowOption] = {
        "stride": tuple(told["strides"].ints) if "strides" in told else (1,),
        "padding": pads[: len(pads) // 2],
        "dilation": tuple(told["dilations"].ints) if "dilations" in told else (1,),
        "groups": float(told["group"].i) if "group" in told else 1.0,
        "transposed": float(node.op_type == "ConvTranspose"),
    }
    if "Pool" in node.op_type:
        found["size"] = tuple(told["kernel_shape"].ints)
    return found


def _product(node: Any, row: TraceRow) -> TraceRow:
    """Factors in the order and the shapes in which PyTorch has them; a sum stands first."""
    left, right, *more = row.reads
    flags = {each.name: each.i for each in node.attribute}
    if flags.get("transA"):
        left = replace(left, shape=left.shape[::-1])
    if flags.get("transB"):
        right = replace(right, shape=right.shape[::-1])
    if len(right.shape) > 2 and len(left.shape) > 2:
        batch = prod(row.writes[0].shape[:-2])
        left, right = (
            replace(each, shape=(batch, *each.shape[-2:]), whole=each.elements)
            for each in (left, right)
        )
        return replace(row, name="aten.bmm", reads=(left, right))
    name = "aten.addmm" if more else "aten.mm"
    return replace(row, name=name, reads=(*more, left, right))


def parts_of(rows: tuple[TraceRow, ...]) -> Mapping[str, TracedModule]:
    """The modules that rows stand in; those whose members are numbered are chains."""
    below: dict[str, dict[str, None]] = {"": {}}
    for row in rows:
        path = ""
        for each in filter(None, row.module.split(".")):
            below[path].setdefault(each)
            path = f"{path}.{each}" if path else each
            below.setdefault(path, {})
    return {
        path: TracedModule(
            kind="",
            children=tuple(names),
            chain=len(names) > 1 and all(name.isdigit() for name in names),
            owns=True,
        )
        for path, names in below.items()
    }
