"""The recorder: one forward and backward pass of a PyTorch module on the meta device.

There tensors have shapes and no content, so nothing is computed and nothing is stored. A dispatch
mode sees every operator below autograd; hooks of autograd tell what is kept for the backward pass;
a number that autograd counts up links what runs backward to what ran forward.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from foretrain.study.tracing.attention import whole
from foretrain.workload.operator import Size
from foretrain.workload.traced.trace import Option, Parameter, Part, Row, Trace, Value

if TYPE_CHECKING:
    import torch

CONVOLUTION: Final = {"aten.convolution": (3, "stride"), "aten._convolution": (3, "stride")}
CHAINS: Final = ("Sequential", "ModuleList")
MOST_COPIED: Final = 2**20
"""Elements of a table of whole numbers that is copied."""


@dataclass(slots=True)
class _Tape:
    """What was seen so far.

    Attributes:
        narrow: the type of activations.
        rows: operators of the forward pass.
        kept: position of the next row and the tensor, each time something is kept.
        numbers: position of the first row for each number that autograd counts up.
        back: bytes at the precision of activations, others, and kernels of the backward pass, by
            that number.
        alive: storages that were met, which must not be freed: their addresses are their names.
        path: modules that are running, innermost last.
        forward: whether the forward pass runs.
    """

    narrow: torch.dtype
    rows: list[Row] = field(default_factory=list)
    kept: list[tuple[int, Value]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    back: dict[int, list[float]] = field(default_factory=dict)
    alive: dict[int, object] = field(default_factory=dict)
    path: list[str] = field(default_factory=lambda: [""])
    forward: bool = True
    written: dict[Any, tuple[str, bool, bool]] = field(default_factory=dict)

    def value(self, tensor: torch.Tensor) -> Value:
        """A tensor without its content."""
        storage = tensor.untyped_storage()
        address, width = storage._cdata, tensor.element_size()
        self.alive.setdefault(address, storage)
        return Value(
            storage=address,
            shape=tuple(tensor.shape),
            width=width,
            narrow=tensor.dtype == self.narrow,
            real=tensor.dtype.is_floating_point or tensor.dtype.is_complex,
            whole=storage.nbytes() // width,
        )

    def about(self, function: Any) -> tuple[str, bool, bool]:  # noqa: ANN401
        """The name of an operator, whether it is value by value, and whether it changes an input."""
        import torch

        found = self.written.get(function)
        if found is None:
            name = str(function._overloadpacket)
            pointwise = torch.Tag.pointwise in function.tags
            found = self.written[function] = (name, pointwise, function._schema.is_mutable)
        return found

    def ran(self, function: Any, args: Any, out: Any) -> None:  # noqa: ANN401
        """Note an operator."""
        name, pointwise, mutable = self.about(function)
        inputs = list(_tensors(args))
        if not self.forward:
            self._returned(inputs, list(_tensors(out)), mutable)
            return
        reads = tuple(map(self.value, inputs))
        writes = tuple(map(self.value, _tensors(out)))
        held = {value.storage for value in reads}
        self._count()
        self.rows.append(
            Row(
                name=name,
                module=self.path[-1],
                reads=reads,
                writes=writes,
                view=bool(writes) and not mutable and all(it.storage in held for it in writes),
                pointwise=pointwise,
                options=_options(name, args),
                input_gradient=any(
                    tensor.requires_grad and not tensor.is_leaf for tensor in inputs
                ),
            )
        )

    def _count(self) -> None:
        import torch

        self.numbers.setdefault(torch.autograd._get_sequence_nr() - 1, len(self.rows))

    def _returned(self, inputs: list[Any], outputs: list[Any], mutable: bool) -> None:
        """Note an operator of the backward pass under what it belongs to."""
        import torch

        node = torch._C._current_autograd_node()
        if node is None:
            return
        read, written = list(map(self.value, inputs)), list(map(self.value, outputs))
        held = {value.storage for value in read}
        if not mutable and all(value.storage in held for value in written):
            return
        sums = self.back.setdefault(node._sequence_nr(), [0.0, 0.0, 0.0])
        for value in (*read, *written):
            sums[0] += value.size.values
            sums[1] += value.size.fixed
        sums[2] += 1

    def done(self) -> tuple[Row, ...]:
        """The rows, with what each keeps and what came back of it."""
        keeps: dict[int, list[Value]] = {}
        for position, value in self.kept:
            place = self._keeper(position, value.storage)
            keeps.setdefault(place, []).append(value)
        back = {self.numbers[n]: sums for n, sums in self.back.items() if n in self.numbers}
        return tuple(
            replace(
                row,
                kept=tuple(keeps.get(position, ())),
                returned=Size(values=back[position][0], fixed=back[position][1])
                if position in back
                else None,
                returns=int(back[position][2]) if position in back else 0,
            )
            if position in keeps or position in back
            else row
            for position, row in enumerate(self.rows)
        )

    def _keeper(self, position: int, storage: int) -> int:
        """The row that keeps: the one about to run if it reads what is kept, else the last."""
        if position < len(self.rows):
            if any(value.storage == storage for value in self.rows[position].reads):
                return position
        return max(0, position - 1)


def _tensors(tree: Any) -> Iterator[Any]:  # noqa: ANN401
    """Tensors among arguments, in order."""
    import torch

    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from _tensors(each)
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from _tensors(each)


def _without_content(tree: Any) -> Any:  # noqa: ANN401
    """The same arguments, all on the meta device where any of them is."""
    import torch

    places = {tensor.device.type for tensor in _tensors(tree)}
    if len(places) < 2 or "meta" not in places:
        return tree

    def moved(each: Any) -> Any:  # noqa: ANN401
        if isinstance(each, torch.Tensor):
            return each.to("meta") if each.device.type != "meta" else each
        if isinstance(each, list | tuple):
            return type(each)(map(moved, each))
        return {k: moved(v) for k, v in each.items()} if isinstance(each, dict) else each

    return moved(tree)


def _options(name: str, args: Any) -> Mapping[str, Option]:  # noqa: ANN401
    """What decides the work of an operator beside its tensors."""
    if name in CONVOLUTION:
        return {"stride": tuple(args[3]), "transposed": float(args[6]), "groups": float(args[8])}
    if name == "foretrain.attention":
        return {"causal": float(args[3]), "window": float(args[4]), "dropout": float(args[5])}
    return {}


def recorded(
    module: torch.nn.Module,
    inputs: tuple[tuple[Any, ...], Mapping[str, Any]],
    *,
    name: str,
    samples: int,
    narrow: torch.dtype,
    path: list[str] | None = None,
) -> Trace:
    """One forward and backward pass of a module.

    The module is left as it is: for the pass its parameters are others of the same shapes.

    Args:
        module: on any device.
        inputs: positional and named arguments of its forward pass, on the meta device.
        name: of the network.
        samples: in the inputs.
        narrow: the type that stands for the precision of activations.
        path: is filled with the modules that were running when something is raised.

    Raises:
        Exception: whatever the module raises.
    """
    import torch

    tape = _Tape(narrow)
    if path is not None:
        tape.path = path
        path[:] = [""]
    given = frozenset(tape.value(each).storage for each in _tensors([*inputs]))
    weights, others = shadows(module, narrow)
    with _trained(module), _watched(module, tape):
        out = torch.func.functional_call(module, {**weights, **others}, inputs[0], dict(inputs[1]))
        tape.forward = False
        _backward(out)
    return Trace(
        name=name,
        rows=tape.done(),
        parameters=_parameters(weights, tape),
        parts={each: _part(inner) for each, inner in module.named_modules()},
        inputs=given,
        samples=samples,
    )


def _backward(out: Any) -> None:  # noqa: ANN401
    """The backward pass of everything that has a gradient."""
    import torch

    ends = [each for each in _tensors(_plain(out)) if each.requires_grad]
    if ends:
        torch.autograd.backward(ends, [torch.empty_like(each) for each in ends])


def _plain(out: Any) -> Any:  # noqa: ANN401
    """Outputs that are objects as tables of their fields; a loss alone where there is one."""
    fields = out if isinstance(out, dict) else getattr(out, "__dict__", None)
    if fields is None or isinstance(out, list | tuple):
        return out
    loss = fields.get("loss")
    if loss is not None:
        return loss
    import torch

    return out if isinstance(out, torch.Tensor) else dict(fields)


@contextmanager
def _watched(module: torch.nn.Module, tape: _Tape) -> Iterator[None]:
    """While this lasts, the tape notes what runs, in which module, and what is kept."""
    import torch
    from torch.nn.modules import module as hooks
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        """Sees every operator below autograd."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401, PLR0917, D102
            # Constants that code makes on a processor meet tensors without content.
            args, kwargs = _without_content(args), _without_content(kwargs or {})
            out = func(*args, **kwargs)
            tape.ran(func, (*args, *kwargs.values()), out)
            return out

    paths = {id(inner): path for path, inner in module.named_modules()}
    depths: list[int] = []

    def enter(inner: torch.nn.Module, _: object) -> None:
        depths.append(len(tape.path))
        tape.path.append(paths.get(id(inner), tape.path[-1]))

    def leave(_: torch.nn.Module, __: object, ___: object) -> None:
        del tape.path[depths.pop() :]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tape.forward:
            tape.kept.append((len(tape.rows), tape.value(tensor)))
        return tensor

    with ExitStack() as stack:
        stack.enter_context(whole())
        for hook in (
            hooks.register_module_forward_pre_hook(enter),
            hooks.register_module_forward_hook(leave),
        ):
            stack.callback(hook.remove)
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept))
        stack.enter_context(Mode())
        yield


def shadows(
    module: torch.nn.Module, narrow: torch.dtype
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Tensors of the shapes of a module's parameters and of its buffers, without content.

    A table of whole numbers keeps its content, which code may look at, in a copy.
    """
    import torch

    def shadow(tensor: torch.Tensor) -> torch.Tensor:
        kind = narrow if tensor.dtype.is_floating_point else tensor.dtype
        found = torch.empty(tensor.shape, dtype=kind, device="meta")
        return found.requires_grad_(tensor.requires_grad)

    weights = {name: shadow(each) for name, each in module.named_parameters()}
    others = {
        name: each.clone() if not each.dtype.is_floating_point and each.numel() <= MOST_COPIED
        else shadow(each)
        for name, each in module.named_buffers()
    }  # fmt: skip
    return weights, others


def _parameters(weights: Mapping[str, torch.Tensor], tape: _Tape) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            name=name,
            storage=tape.value(each).storage,
            count=float(each.numel()),
            trained=each.requires_grad,
        )
        for name, each in weights.items()
    )


@contextmanager
def _trained(module: torch.nn.Module) -> Iterator[None]:
    """While this lasts, a module that was left in evaluation is in training."""
    modes = [(inner, inner.training) for inner in module.modules()]
    try:
        if not module.training:
            module.train()
        yield
    finally:
        for inner, training in modes:
            inner.training = training


def _part(module: torch.nn.Module) -> Part:
    return Part(
        kind=type(module).__name__,
        children=tuple(name for name, _ in module.named_children()),
        chain=any(kind.__name__ in CHAINS for kind in type(module).__mro__),
        owns=any(True for _ in module.parameters(recurse=False)),
    )
