"""Follow the published code of networks and list what they do: `tables/networks.csv`.

    python validation/list_networks.py validation/tables/single_device.csv networks.csv

Needs torch and the version of timm that the table was measured with; computes nothing (tensors on
the `meta` device have shapes alone) and reads no measured time. One line lists every kernel of the
forward and backward pass of one network for images of one size, under mixed precision as
torch.autocast of CUDA does it. `foretrain.study.measurements` explains the forms.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import timm
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

SAMPLES = 37
"""A prime that no network has as a dimension, so that whatever it divides belongs to samples."""

HALF = frozenset(
    (
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose2d",
        "linear",
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "bmm",
        "mm",
        "addmm",
        "baddbmm",
        "addbmm",
        "einsum",
        "prelu",
    )
)
FULL = frozenset(
    (
        "layer_norm",
        "group_norm",
        "softmax",
        "log_softmax",
        "cross_entropy",
        "cross_entropy_loss",
        "norm",
        "pow",
        "__pow__",
        "sum",
        "prod",
        "cumsum",
        "exp",
        "log",
        "cosine_similarity",
        "softplus",
        "__rpow__",
        "reciprocal",
        "rsqrt",
        "cdist",
    )
)
"""What autocast computes in 16 bits and in 32. Source: PyTorch's page on torch.amp."""

VIEWS = frozenset(
    (
        "view",
        "_unsafe_view",
        "t",
        "transpose",
        "permute",
        "expand",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "detach",
        "alias",
        "split",
        "split_with_sizes",
        "unbind",
        "as_strided",
        "reshape",
        "_reshape_alias",
        "chunk",
        "empty",
        "empty_like",
        "new_empty",
        "new_empty_strided",
        "empty_strided",
        "lift_fresh",
        "is_same_size",
        "unfold",
        "diagonal",
        "movedim",
        "set_",
        "resize_",
        "squeeze_",
    )
)
"""Operators that start no kernel."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "batch norm": ("native_batch_norm",),
    "group norm": ("native_group_norm",),
    "layer norm": ("native_layer_norm",),
    "softmax": ("softmax",),
    "pooling": ("pool",),
    "reduction": ("sum", "mean", "linalg_vector_norm", "var", "std", "amax", "nll_loss"),
    "copy": (
        *("_to_copy", "clone", "copy_", "cat", "stack", "roll", "pad", "slice_backward", "flip"),
        *("select_backward", "index", "repeat", "im2col", "col2im", "unfold_backward", "zeros"),
        *("new_zeros", "zero_", "fill_", "upsample", "ones", "full", "embedding", "arange"),
    ),
}
"""Kinds by how the names of their kernels start, or what they hold; the rest is pointwise."""

TWICE = {"batch norm": (3 / 2, 5 / 3), "group norm": (3 / 2, 5 / 3)}
"""Norms over a whole picture read their inputs once more, for the statistics; forward, backward."""

Amounts = tuple[float, float]
Kernel = tuple[bool, str, Amounts, Amounts]
"""Whether it is of the backward pass, its name, what it reads and what it writes."""

Operation = Callable[..., object]
Arguments = tuple[object, ...]
Keywords = Mapping[str, object]


class MixedPrecision(TorchFunctionMode):
    """Casts as torch.autocast does; a parameter is cast once."""

    def __init__(self) -> None:
        super().__init__()
        self._cast: dict[int, torch.Tensor] = {}

    def __torch_function__(
        self, func: Operation, _: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> object:
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name in HALF or name in FULL:
            kind = torch.float16 if name in HALF else torch.float32
            args = self._as(args, kind)
            kwargs = {key: self._as(value, kind) for key, value in kwargs.items()}
        elif name in {"cat", "stack"} and len({each.dtype for each in args[0]}) > 1:
            args = (self._as(list(args[0]), torch.float32), *args[1:])
        return func(*args, **kwargs)

    def _as(self, value: object, kind: torch.dtype) -> object:
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(self._as(each, kind) for each in value)
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        if value.dtype == kind:
            return value
        if not isinstance(value, torch.nn.Parameter):
            return value.to(kind)
        return self._cast.setdefault(id(value), value.to(kind))


class Recorder(TorchDispatchMode):
    """Writes down every kernel, as what it is and what it reads and writes of one sample."""

    def __init__(self) -> None:
        super().__init__()
        self.backward = False
        self.convolutions: Counter[str] = Counter()
        self.products: Counter[str] = Counter()
        self.moves: list[Kernel] = []

    def __torch_dispatch__(
        self, func: Operation, _: object, args: Arguments = (), kwargs: Keywords | None = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self._record(name, args, (tensors((args, kwargs)), tensors(result)))
        return result

    def _record(
        self, name: str, args: Arguments, touched: tuple[list[torch.Tensor], list[torch.Tensor]]
    ) -> None:
        inputs, results = touched
        product = name in {"mm", "addmm", "bmm", "baddbmm"}
        if name == "convolution_backward" or (product and self.backward):
            return
        if product:
            left, right = inputs[-2:]
            self.products[product_form(left, right)] += 1
        elif name == "convolution" and inputs[0].numel() % SAMPLES == 0:
            pictures = (inputs[0], results[0])
            form, count = convolution_form(pictures, sides(inputs[1].shape[2:]), args[8])
            self.convolutions[form] += count
        else:
            moved = (amounts(distinct(inputs)), amounts(results))
            self.moves.append((self.backward, name, *moved))


def tensors(value: object) -> list[torch.Tensor]:
    """The tensors in nested arguments."""
    return [each for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor)]


def distinct(inputs: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors at different places."""
    return list({(t.untyped_storage()._cdata, t.storage_offset()): t for t in inputs}.values())


def amounts(of: Iterable[torch.Tensor]) -> Amounts:
    """Values of 16 and of 32 bits (8 bytes are two) of one sample; parameters do not count."""
    half = full = 0.0
    for each in of:
        if each.numel() % SAMPLES:
            continue
        if each.dtype is torch.float16:
            half += each.numel() / SAMPLES
        else:
            full += each.numel() / SAMPLES * each.element_size() / 4
    return half, full


def sides(of: Iterable[int]) -> str:
    """Pixels of a picture or window: one number for equal sides."""
    all_sides = [1, *of][-2:]
    return str(all_sides[0]) if len(set(all_sides)) == 1 else "x".join(map(str, all_sides))


def convolution_form(
    pictures: tuple[torch.Tensor, torch.Tensor], window: str, groups: int
) -> tuple[str, int]:
    """One convolution, and how many such a sample has.

    Where every sample has weights of its own (mixed from experts), samples are groups.
    """
    picture, result = pictures
    count, own = picture.shape[0], 1
    if count % SAMPLES == 0:
        count //= SAMPLES
    else:
        own = SAMPLES
    read, written = picture.shape[1] // own, result.shape[1] // own
    form = f"{read}@{sides(picture.shape[2:])}>{written}@{sides(result.shape[2:])}/{window}"
    return form + (f" g{groups // own}" if groups > own else ""), count


def product_form(left: torch.Tensor, right: torch.Tensor) -> str:
    """One product: with a parameter on the right, or a batch of them without."""
    columns = right.shape[-1]
    if left.dim() == 2:
        return f"{number(left.shape[0] / SAMPLES)}x{left.shape[1]}>{columns}"
    return f"{number(left.shape[0] / SAMPLES)}*{left.shape[1]}x{left.shape[2]}>{columns}"


def number(value: float) -> str:
    """A number in few digits."""
    return f"{value:.6g}"


def kind_of(name: str) -> str:
    """The kind of a kernel that only moves data."""
    for kind, parts in KINDS.items():
        for part in parts:
            if name.startswith(part) or (part in {"pad", "pool", "softmax"} and part in name):
                return kind
    return "pointwise"


def fused(moves: list[Kernel]) -> Iterator[Kernel]:
    """The kernels with the casts around a softmax in its own kernel, as CUDA has them."""
    waiting: Kernel | None = None
    for move in moves:
        backward, name, _, written = move
        if waiting is not None:
            casts = (waiting[1], name) if not backward else (name, waiting[1])
            if casts[0] == "_to_copy" and "softmax" in casts[1] and waiting[0] == backward:
                yield backward, casts[1], waiting[2], written
                waiting = None
                continue
            yield waiting
        waiting = move
    if waiting is not None:
        yield waiting


def moves_form(moves: list[Kernel]) -> str:
    """Every kind of kernel that only moves data: values of 16 and 32 bits and kernels, by pass."""
    totals: dict[str, list[list[float]]] = {}
    for backward, name, read, written in fused(moves):
        kind = kind_of(name)
        factor = TWICE.get(kind, (1.0, 1.0))[backward]
        total = totals.setdefault(kind, [[0.0, 0.0, 0], [0.0, 0.0, 0]])[backward]
        total[0] += factor * (read[0] + written[0])
        total[1] += factor * (read[1] + written[1])
        total[2] += 1
    return "; ".join(
        f"{kind} " + " / ".join(" ".join(map(number, each)) for each in both)
        for kind, both in totals.items()
    )


def made(name: str) -> torch.nn.Module:
    """The network on the meta device."""
    ranges = torch.linspace
    # Networks read the numbers of such a range one by one, which the meta device has none of.
    torch.linspace = lambda *args, **kwargs: ranges(*args, **{**kwargs, "device": "cpu"})
    try:
        with torch.device("meta"):
            return timm.create_model(name).to("meta")
    except (NotImplementedError, RuntimeError):
        return timm.create_model(name).to("meta")
    finally:
        torch.linspace = ranges


def line(name: str, image: int) -> list[str]:
    """The cells of one network for images of one size."""
    network = made(name).train()
    pictures = torch.empty(SAMPLES, 3, image, image, device="meta")
    labels = torch.zeros(SAMPLES, dtype=torch.long, device="meta")
    kept: dict[int, torch.Tensor] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        kept[value.untyped_storage()._cdata] = value
        return value

    recorder = Recorder()
    with MixedPrecision(), recorder, torch.autograd.graph.saved_tensors_hooks(keep, lambda it: it):
        found = network(pictures)
        found = found[0] if isinstance(found, (tuple, list)) else found
        loss = torch.nn.functional.cross_entropy(found, labels)
    recorder.backward = True
    with recorder:
        loss.backward()
    sizes = [each.untyped_storage().nbytes() for each in kept.values()]
    return [
        name,
        str(image),
        str(sum(each.numel() for each in network.parameters())),
        number(sum(size for size in sizes if size % SAMPLES == 0) / SAMPLES),
        counted(recorder.convolutions),
        counted(recorder.products),
        moves_form(recorder.moves),
        f"timm {timm.__version__}",
    ]


def counted(forms: Counter[str]) -> str:
    """Forms with how often each occurs."""
    return "; ".join(form + (f" x{n}" if n > 1 else "") for form, n in forms.items())


def main(table: Path, target: Path) -> None:
    """Write a line for every network and size of the table that timm has."""
    with table.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["source_id"].startswith("timm")]
    wanted = sorted({(row["model"], int(row["input"])) for row in rows})
    with target.open("w", encoding="utf-8", newline="") as written:
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(
            ["name", "image", "parameters", "kept", "convolutions", "products", "moves", "source"]
        )
        for name, image in wanted:
            try:
                writer.writerow(line(name, image))
            except (ImportError, RuntimeError) as error:
                print(f"{name} at {image}: {error}", file=sys.stderr)
            written.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
