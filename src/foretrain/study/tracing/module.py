"""Networks of a user's own: `package.module:build` makes one, and it is traced.

What `build` returns is a module, or a module and an example of its inputs, whose first dimension
counts samples. Without an example a study says what a sample is: so many tokens, or an image.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import ForetrainError, InputError, UnsupportedModel, require, shortened
from foretrain.plugins import imported
from foretrain.study.tracing.inputs import ExampleBatch, SampleSize, batch_of
from foretrain.study.tracing.kept import fingerprint, kept, versions
from foretrain.study.tracing.record import Inputs, recorded
from foretrain.workload.graph import Model
from foretrain.workload.traced.layers import model_of_trace
from foretrain.workload.traced.trace import ModelTrace

if TYPE_CHECKING:
    import torch

CONTENT: Final = re.compile(
    r"item\(\)|meta tensor|local_scalar|nonzero|data.dependent|no data|with meta|'Meta' backend"
    r"|Meta device|device type Meta",
    re.IGNORECASE,
)
"""What PyTorch says where code looks at the content of a tensor that has none."""

KINDS: Final = re.compile(r"dtype|same type|scalar type|BFloat16|Half", re.IGNORECASE)
"""What it says where tensors of two precisions meet."""

WRAPPERS: Final = ("DataParallel", "DistributedDataParallel")
"""Modules that train another one on several devices, which is a plan's business."""

MOST_SAID: Final = 300
"""Letters of what somebody else's code raised."""


def traced_code(name: str, *, folder: str, sequence: int | None, image: int | None) -> Model:
    """The model of a network that somebody's code builds.

    Args:
        name: package.module:build.
        folder: where modules are looked for first; empty for nowhere.
        sequence: tokens of a sample, for a network that reads a table of them.
        image: pixels per side of a sample, for one that reads pictures.

    Raises:
        ForetrainError: PyTorch is missing, there is no such code, it raises, or it returns no
            module.
    """
    require("torch", what=f"model '{name}'")
    import torch

    build = imported(name, folder=folder)
    if not callable(build):
        raise InputError(f"{name}: is a {type(build).__name__}; a function is wanted.")
    made = build if isinstance(build, torch.nn.Module) else _built(build, name)
    module, example = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"{name}: returned a {type(module).__name__}; a torch.nn.Module is wanted, or one and "
            "an example of its inputs."
        )
    return traced_module(module, name=name, example=example, sequence=sequence, image=image)


def _built(build: Any, name: str) -> Any:
    """What a function makes: without content if it can do so, as it likes otherwise."""
    import torch

    try:
        with torch.device("meta"):
            return build()
    except Exception:
        try:
            return build()
        except Exception as error:
            raise InputError(f"{name}: raised {_said(error)}.") from error


def traced_module(
    module: torch.nn.Module,
    *,
    name: str,
    example: object = None,
    sequence: int | None = None,
    image: int | None = None,
) -> Model:
    """The model of a module, which is left as it is.

    Args:
        module: on any device.
        name: of the model.
        example: a tensor, or a tuple or a table of them; their first dimension counts samples.
        sequence: tokens of a sample, where there is no example.
        image: pixels per side of a sample, where there is no example.

    Raises:
        InputError: its forward pass raises, or it is not known what a sample is.
    """
    if type(module).__name__ in WRAPPERS:
        module = module.module
    own, size = fingerprint(module, example), SampleSize(sequence, image)
    sizes = (name, sequence, image, versions("torch"))
    parts = None if own is None else [*sizes, *own]
    return kept(parts, lambda: _anew(module, name, example=example, size=size))


def _anew(module: torch.nn.Module, name: str, *, example: object, size: SampleSize) -> Model:
    """The model of a module, traced with narrow activations or, where they will not do, in fp32."""
    import torch

    from foretrain.study.tracing.hugging_face import is_of_transformers, traced_pretrained

    if example is None and is_of_transformers(module):
        return traced_pretrained(module, name=name, size=size)
    wrong: Exception | None = None
    for narrow in (torch.bfloat16, torch.float32):
        path: list[str] = []
        batch = batch_of(module, example, narrow, name=name, size=size)
        try:
            trace = traced(module, batch, name=name, narrow=narrow, path=path)
        except Exception as error:  # whatever somebody else's code raises
            wrong = error
            if narrow is torch.float32 or not KINDS.search(str(error)):
                break
        else:
            return model_of_trace(trace, tokens=size.sequence, source=name)
    assert wrong is not None
    raise failed(wrong, name, path=path, inputs=batch.inputs) from wrong


def traced(
    module: torch.nn.Module, batch: ExampleBatch, *, name: str, narrow: torch.dtype, path: list[str]
) -> ModelTrace:
    """One pass of a module, and what had to be assumed."""
    import torch

    trace = recorded(
        module, batch.inputs, name=name, samples=batch.samples, narrow=narrow, path=path
    )
    told = f"that {name}, which was traced in fp32 alone, runs in the workload's precision too"
    wide = (told,) if narrow is torch.float32 else ()
    return replace(trace, remarks=(*batch.assumed, *trace.remarks, *wide))


def failed(error: Exception, name: str, *, path: list[str], inputs: Inputs) -> ForetrainError:
    """What to say of a forward pass that raised something."""
    where = f" in module '{path[-1]}'" if path and path[-1] else ""
    if CONTENT.search(str(error)):
        return UnsupportedModel(
            f"{name}: its forward pass{where} looks at the content of a tensor, which a trace "
            f"does not have: {_said(error)}. Take such a branch or count out of it (torch.where, a "
            "fixed number), or give the model's totals."
        )
    shapes = [tuple(each.shape) for each in (*inputs[0], *inputs[1].values())
              if hasattr(each, "shape")]  # fmt: skip
    return InputError(
        f"{name}: its forward pass{where} raised {_said(error)} for inputs of shape "
        f"{', '.join(map(str, shapes))}. If that is no batch of samples, have the function return "
        "(module, example) with one."
    )


def _said(error: Exception) -> str:
    """What was raised, and the last line of the user's own code that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    foreign = ("/torch/", "/foretrain/")
    own = [each for each in frames if not any(part in each.filename for part in foreign)]
    last = (own or list(frames))[-1]
    first = str(error).strip().split("\n")[0].rstrip(".")
    told = shortened(f"{type(error).__name__}: {first}", most=MOST_SAID)
    return f"{told} ({PurePath(last.filename).name}, line {last.lineno})"
