"""The recorder: one forward and backward pass of a PyTorch module on the meta device.

There tensors have shapes and no content, so nothing is computed and nothing is stored. A dispatch
mode sees every operator below autograd; a hook of autograd tells what the backward pass needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from foretrain.study.tracing.operators import whole
from foretrain.study.tracing.tape import Tape, tensors
from foretrain.workload.traced.trace import ModelTrace, TracedModule, TracedParameter

if TYPE_CHECKING:
    import torch

Inputs = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Positional and named arguments of a forward pass."""

CHAINS: Final = ("Sequential", "ModuleList")
OWN_CHECKPOINTS: Final = "that plan.recompute decides what is recomputed, not the module itself"

MOST_COPIED: Final = 2**20
"""Elements of a table of whole numbers that is copied."""


def recorded(
    module: torch.nn.Module,
    inputs: Inputs,
    *,
    name: str,
    samples: int,
    narrow: torch.dtype,
    path: list[str],
) -> ModelTrace:
    """One forward and backward pass of a module.

    The module is left as it is: for the pass its parameters are others of the same shapes.

    Args:
        module: on any device.
        inputs: of its forward pass, on the meta device.
        name: of the network.
        samples: in the inputs.
        narrow: the type that stands for the precision of activations.
        path: tells the modules that were running when something is raised.

    Raises:
        Exception: whatever the module raises.
    """
    import torch

    path[:] = [""]
    tape = Tape(narrow, path)
    given = frozenset(tape.tensor(each).storage for each in tensors([*inputs]))
    weights, others = shadows(module, narrow)
    with _in_training(module), _without_checkpoints(tape), _watched(module, tape):
        out = torch.func.functional_call(module, {**weights, **others}, inputs[0], dict(inputs[1]))
        tape.forward = False
        _backward(out)
    parameters = tuple(
        TracedParameter(
            name=name,
            storage=tape.tensor(each).storage,
            count=float(each.numel()),
            trained=each.requires_grad,
        )
        for name, each in weights.items()
    )
    return ModelTrace(
        name=name,
        rows=tape.done(),
        parameters=parameters,
        parts={each: _module(inner) for each, inner in module.named_modules()},
        inputs=given,
        samples=samples,
        remarks=(OWN_CHECKPOINTS,) if tape.checkpoints else (),
    )


def _backward(out: Any) -> None:
    """The backward pass of a loss, or else of everything that has a gradient."""
    import torch

    is_tensor = isinstance(out, torch.Tensor)
    fields = {} if is_tensor else out if isinstance(out, dict) else getattr(out, "__dict__", {})
    loss = fields.get("loss")
    found = loss if loss is not None else fields or out
    ends = list(filter(lambda each: each.requires_grad, tensors(found)))
    if ends:
        torch.autograd.backward(ends, [torch.empty_like(each) for each in ends])


@contextmanager
def _watched(module: torch.nn.Module, tape: Tape) -> Iterator[None]:
    """While this lasts, the tape notes what runs, in which module, and what is kept."""
    import torch
    from torch.nn.modules import module as hooks

    paths = {id(inner): path for path, inner in module.named_modules()}
    depths: list[int] = []

    def enter(inner: torch.nn.Module, _: object) -> None:
        depths.append(len(tape.path))
        tape.path.append(paths.get(id(inner), tape.path[-1]))

    def leave(_: torch.nn.Module, __: object, ___: object) -> None:
        del tape.path[depths.pop() :]

    with ExitStack() as stack:
        stack.enter_context(whole())
        for hook in (
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave),
        ):
            stack.callback(hook.remove)
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(tape.keep, lambda kept: kept))
        stack.enter_context(_mode(tape.ran))
        yield


def _mode(ran: Callable[[Any, Any, Any], None]) -> Any:
    """A mode of PyTorch in which somebody is told of every operator."""
    from torch.utils._python_dispatch import TorchDispatchMode

    def dispatched(_: Any, function: Any, __: Any, *rest: Any) -> Any:
        # Constants that code makes on a processor meet tensors without content.
        args, kwargs = without_content(rest[0], rest[1] if len(rest) > 1 else None)
        out = function(*args, **kwargs)
        ran(function, (*args, *kwargs.values()), out)
        return out

    names = {
        "__torch_dispatch__": lambda self, function, types, args=(), kwargs=None: dispatched(
            self, function, types, args, kwargs
        )
    }
    return type("Watching", (TorchDispatchMode,), names)()


def without_content(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The same arguments, all on the meta device where any of them is."""
    import torch

    named = kwargs or {}
    places = {each.is_meta for each in tensors([args, named])}
    if len(places) < 2:
        return args, named

    def moved(each: Any) -> Any:
        if isinstance(each, torch.Tensor):
            return each if each.is_meta else each.to("meta")
        if isinstance(each, list | tuple):
            return type(each)(map(moved, each))
        return {k: moved(v) for k, v in each.items()} if isinstance(each, dict) else each

    return moved(args), moved(named)


def shadows(
    module: torch.nn.Module, narrow: torch.dtype
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Tensors of the shapes of a module's parameters and of its buffers, without content.

    A table of whole numbers keeps its content, which code may look at, in a copy.
    """
    import torch

    def shadow(tensor: torch.Tensor) -> torch.Tensor:
        real = tensor.dtype.is_floating_point
        if not real and tensor.numel() <= MOST_COPIED:
            return tensor.clone()
        found = torch.empty(tensor.shape, dtype=narrow if real else tensor.dtype, device="meta")
        return found.requires_grad_(tensor.requires_grad)

    weights = {name: shadow(each) for name, each in module.named_parameters()}
    return weights, {name: shadow(each) for name, each in module.named_buffers()}


def _module(module: torch.nn.Module) -> TracedModule:
    return TracedModule(
        kind=type(module).__name__,
        children=tuple(name for name, _ in module.named_children()),
        chain=any(kind.__name__ in CHAINS for kind in type(module).__mro__),
        owns=any(True for _ in module.parameters(recurse=False)),
    )


@contextmanager
def _without_checkpoints(tape: Tape) -> Iterator[None]:
    """While this lasts, what a module would recompute is kept: that is a plan's choice."""
    from torch.utils import checkpoint

    def nothing(*_: object, **__: object) -> Iterator[None]:
        tape.checkpoints = True
        yield

    class NoCheckpoint:
        """Stands where PyTorch runs a part without keeping anything."""

        @staticmethod
        def apply(function: Callable[..., Any], _: bool, *inputs: Any) -> Any:
            tape.checkpoints = True
            return function(*inputs)

    instead = {
        "_checkpoint_without_reentrant_generator": nothing,
        "CheckpointFunction": NoCheckpoint,
    }
    before = {name: getattr(checkpoint, name) for name in instead if hasattr(checkpoint, name)}
    try:
        for name in before:
            setattr(checkpoint, name, instead[name])
        yield
    finally:
        for name, function in before.items():
            setattr(checkpoint, name, function)


@contextmanager
def _in_training(module: torch.nn.Module) -> Iterator[None]:
    """While this lasts, a module that was left in evaluation is in training."""
    modes = [(inner, inner.training) for inner in module.modules()]
    try:
        if not module.training:
            module.train()
        yield
    finally:
        for inner, training in modes:
            inner.training = training
