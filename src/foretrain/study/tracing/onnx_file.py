"""ONNX files: a graph whose shapes are inferred, read as the trace of a forward pass.

A file says nothing of a backward pass, which follows by rule: products, norms and smooth functions
keep what they read, a ReLU or a softmax what it wrote, sums keep nothing.

Exporters write down how a shape is computed (the shape of one tensor, a part of it, joined with
others). What follows from known shapes alone is evaluated, and shapes are inferred again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import ForetrainError, InputError, require, shortened
from foretrain.study.files import read_bytes
from foretrain.study.tracing.onnx_rows import OnnxGraph, parts_of, rows_of
from foretrain.workload.graph import Model
from foretrain.workload.traced.layers import model_of_trace
from foretrain.workload.traced.trace import ModelTrace

MOST_BYTES: Final = 2**31
"""The most that a protocol buffer holds; larger models keep their weights beside it."""

SAMPLES: Final = 2
"""Of a file that leaves their number open."""

RULED: Final = "that its backward pass is as for such operators in general: the file has none"


def model_of_onnx(path: Path, *, sequence: int | None, image: int | None) -> Model:
    """The model of an ONNX file.

    Args:
        path: the file; weights that it keeps elsewhere are not needed.
        sequence: tokens of a sample, where the file leaves them open.
        image: pixels per side of a sample, where the file leaves them open.

    Raises:
        ForetrainError: onnx is missing, the file is not whole, a size stays open, or shapes do not
            follow from one another.
    """
    require("onnx", what=f"'{path.name}'")
    content = read_bytes(path, most=MOST_BYTES)
    try:
        document = _parsed(content, path)
        samples = _sized(document, path, sequence=sequence, image=image)
        graph = OnnxGraph(inferred(document, path).graph, str(path))
        rows = tuple(rows_of(graph))
        trace = ModelTrace(
            name=path.name.removesuffix(".onnx"),
            rows=rows,
            parameters=graph.parameters,
            parts=parts_of(rows),
            inputs=graph.inputs,
            samples=samples,
            remarks=(RULED,),
        )
        whole = model_of_trace(trace, tokens=sequence, source=str(path))
    except ForetrainError as error:
        told = str(error)
        raise InputError(told if told.startswith(str(path)) else f"{path}: {told}") from None
    except Exception as error:  # shapes or attributes that no exporter writes
        told = f"{type(error).__name__}: {error}".split("\n")[0]
        raise InputError(f"{path}: its operators contradict one another ({told}).") from error
    if not whole.parameters:
        raise InputError(f"{path}: has no parameter: no table of numbers is read.")
    return whole


def _parsed(content: bytes, path: Path) -> Any:
    """The document of a file."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        found = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise InputError(f"{path}: is no whole ONNX file ({error}). Export it again.") from None
    if not found.graph.node:
        raise InputError(f"{path}: is no ONNX file, or one without a graph. Export it again.")
    return found


def _sized(document: Any, path: Path, *, sequence: int | None, image: int | None) -> int:
    """Fill in what a file leaves open of its inputs' shapes; how many samples they hold.

    Raises:
        InputError: a size is open that the study does not give.
    """
    given = {each.name for each in document.graph.initializer}
    samples: set[int] = set()
    for each in document.graph.input:
        if each.name in given:
            continue
        sides = each.type.tensor_type.shape.dim
        if not sides:
            raise InputError(f"{path}: input '{each.name}' has no samples along its first side.")
        for place, side in enumerate(sides):
            if not side.HasField("dim_value") or side.dim_value < 1:
                found = _open(place, len(sides), sequence=sequence, image=image)
                if found is None:
                    said = side.dim_param or "?"
                    raise InputError(
                        f"{path}: input '{each.name}' leaves its side {place} ('{said}') open. "
                        "Give sequence (tokens) or image (pixels), or export it with a number."
                    )
                side.dim_value = found
        samples.add(sides[0].dim_value)
    if not samples:
        raise InputError(f"{path}: has no input.")
    return min(samples)


def _open(place: int, rank: int, *, sequence: int | None, image: int | None) -> int | None:
    """What a side is that a file leaves open."""
    if place == 0:
        return SAMPLES
    if rank > 3 and place > 1:
        return image
    return sequence


SMALL: Final = 4096
"""Numbers of a table that may be part of a shape."""

MOST_PASSES: Final = 1000

COMPUTED: Final = frozenset(
    """Constant Identity Gather Slice Concat Unsqueeze Squeeze Reshape Cast Add Sub Mul Div Mod Neg
    Floor Ceil Sqrt Min Max Equal Greater Less GreaterOrEqual LessOrEqual Not And Or Where Sign Abs
    ReduceProd ReduceSum ReduceMax ReduceMin Flatten Transpose""".split()  # noqa: SIM905
)
"""Operators whose result is no larger than what they read."""

SPREADING: Final = frozenset({"ConstantOfShape", "Expand"})
"""Operators whose result is as large as the last number that they read says."""

Numbers = dict[str, NDArray[Any]]


def inferred(document: Any, path: Path) -> Any:
    """A document with the shapes of everything between its inputs and outputs.

    Raises:
        InputError: shapes contradict one another.
    """
    # Leave out numbers of weights and earlier shapes, which only take time.
    del document.graph.value_info[:]
    for each in document.graph.output:
        each.type.tensor_type.ClearField("shape")
    for table in document.graph.initializer:
        if np.prod(table.dims) > SMALL:
            for field in ("raw_data", "float_data", "double_data", "external_data"):
                table.ClearField(field)
    for _ in range(MOST_PASSES):
        found = _inferred(document, path)
        numbers = _worked_out(found)
        if not numbers:
            return found
        _put(document, numbers)
    return found


def _inferred(document: Any, path: Path) -> Any:
    import onnx

    try:
        return onnx.shape_inference.infer_shapes(document, strict_mode=True, data_prop=True)
    except Exception as error:  # whatever its C++ part raises
        told = shortened(" ".join(str(error).split()), most=300)
        raise InputError(f"{path}: shapes do not follow from one another: {told}.") from None


def _worked_out(document: Any) -> Numbers:
    """Outputs of nodes that follow from known shapes alone, and are no part of the file yet."""
    from onnx.numpy_helper import to_array

    graph = document.graph
    shapes = _shapes(graph)
    known: Numbers = {
        each.name: to_array(each)
        for each in graph.initializer
        if np.prod(each.dims) <= SMALL and not each.external_data
    }
    found: Numbers = {}
    for node in graph.node:
        if node.op_type == "Shape" and node.input[0] in shapes and not node.attribute:
            values = [np.array(shapes[node.input[0]], np.int64)]
        elif node.op_type != "Shape" and all(name in known for name in node.input if name):
            values = _evaluated(node, known)
        else:
            continue
        for name, value in zip(node.output, values, strict=False):
            if value.size <= SMALL:
                known[name] = found[name] = value
    return found


def _shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Shapes that are known whole."""
    found = {each.name: tuple(each.dims) for each in graph.initializer}
    for each in (*graph.input, *graph.value_info, *graph.output):
        kind = each.type.tensor_type
        sides = kind.shape.dim
        if kind.HasField("shape") and all(side.HasField("dim_value") for side in sides):
            found[each.name] = tuple(side.dim_value for side in sides)
    return found


def _evaluated(node: Any, known: Numbers) -> list[NDArray[Any]]:
    """What a node makes of numbers; nothing where nobody can say."""
    from onnx.reference import ReferenceEvaluator

    given = {name: known[name] for name in node.input if name}
    spreads = node.op_type in SPREADING and 0 <= np.prod(known[node.input[-1]]) <= SMALL
    if not (node.op_type in COMPUTED or spreads):
        return []
    try:
        made = ReferenceEvaluator(node).run(None, given)
    except Exception:
        return []
    return [np.asarray(each) for each in made if each is not None]


def _put(document: Any, numbers: Numbers) -> None:
    """Write numbers into a document in the place of the nodes that make them."""
    from onnx.numpy_helper import from_array

    graph = document.graph
    left = [node for node in graph.node if not set(node.output) & numbers.keys()]
    dead = {name for node in graph.node for name in node.output} - {
        name for node in left for name in node.output
    }
    graph.initializer.extend(from_array(numbers[name], name) for name in dead if name in numbers)
    del graph.node[:]
    graph.node.extend(left)
