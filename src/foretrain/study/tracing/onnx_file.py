"""ONNX files: a graph whose shapes are inferred, read as the trace of a forward pass.

A file says nothing of a backward pass, which follows by rule: products, norms and smooth functions
keep what they read, a ReLU or a softmax what it wrote, sums keep nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from foretrain.errors import ForetrainError, InputError, require
from foretrain.study.reading import read_bytes
from foretrain.study.tracing.onnx_rows import OnnxGraph, parts_of, rows_of
from foretrain.study.tracing.onnx_shapes import inferred
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
        trace = _trace(_parsed(content, path), path, sequence=sequence, image=image)
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


def _trace(document: Any, path: Path, *, sequence: int | None, image: int | None) -> ModelTrace:
    """The forward pass of a document."""
    samples = _sized(document, path, sequence=sequence, image=image)
    graph = OnnxGraph(inferred(document, path).graph, str(path))
    rows = tuple(rows_of(graph))
    return ModelTrace(
        name=path.name.removesuffix(".onnx"),
        rows=rows,
        parameters=graph.parameters,
        parts=parts_of(rows),
        inputs=graph.inputs,
        samples=samples,
        remarks=(RULED,),
    )


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
