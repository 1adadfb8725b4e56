"""Shapes of an ONNX graph: inferred, and where they hang on numbers, those numbers worked out.

Exporters write down how a shape is computed (the shape of one tensor, a part of it, joined with
others). What follows from known shapes alone is evaluated, and shapes are inferred again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError, shortened

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
    _strip(document)
    for _ in range(MOST_PASSES):
        found = _inferred(document, path)
        numbers = _worked_out(found)
        if not numbers:
            return found
        _put(document, numbers)
    return found


def _strip(document: Any) -> None:
    """Leave out numbers of weights and earlier shapes, which only take time."""
    del document.graph.value_info[:]
    for each in document.graph.output:
        each.type.tensor_type.ClearField("shape")
    for table in document.graph.initializer:
        if np.prod(table.dims) > SMALL:
            for field in ("raw_data", "float_data", "double_data", "external_data"):
                table.ClearField(field)


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
