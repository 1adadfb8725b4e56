"""Single operators: what the device reaches on each kind, by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from recorder.machine import Machine
from recorder.timing import Mark, Timing, timed

_NAMES = (
    "id source_id date gpu_norm framework operator pass precision shape flop bytes calls seconds "
    "lower_quartile least repeats tflops gbs check notes"
)
COLUMNS = tuple(_NAMES.split())

Call = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of one size.

    Attributes:
        name: kind of operator.
        direction: forward, or forward and backward together.
        dtype: of its values.
        shape: in words.
        flop: of one call, a multiply-add counted as 2.
        moved: bytes of one call that are read or written at least.
        make: sets its values up and gives what calls it once.
        calls: how often one lap calls it.
        tf32: whether products of fp32 may round to tf32.
    """

    name: str
    direction: str = "forward"
    dtype: torch.dtype
    shape: str
    flop: float = 0.0
    moved: float = 0.0
    make: Callable[[], Call]
    calls: int = 1
    tf32: bool = False

    @property
    def precision(self) -> str:
        """In the words of the tables."""
        words = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
        return "tf32" if self.tf32 else words[self.dtype]

    @property
    def slug(self) -> str:
        """A name that no other operator has."""
        words = (self.name, self.direction, self.precision, self.shape)
        return "-".join(words).replace(" ", "-").replace("=", "")


def timing_of(operator: Operator, machine: Machine) -> Timing | None:
    """Seconds of one lap; None if the operator ran out of memory."""
    torch.backends.cuda.matmul.allow_tf32 = operator.tf32
    torch.backends.cudnn.allow_tf32 = operator.tf32
    torch.backends.cudnn.benchmark = True
    try:
        return _timed(operator, machine)
    except torch.OutOfMemoryError:
        return None


def _timed(operator: Operator, machine: Machine) -> Timing:
    with torch.device(machine.device):
        call = operator.make()

    def lap(mark: Mark) -> None:
        mark()
        for _ in range(operator.calls):
            call()
        mark()

    return timed(lap, machine.clock, seconds=0.5)


def sweep(machine: Machine) -> Iterator[Operator]:
    """All operators, for a GPU or smaller ones for a processor."""
    gpu = machine.is_gpu
    dtypes = (
        [(torch.bfloat16, False), (torch.float16, False), (torch.float32, True)]
        if gpu
        else [(torch.bfloat16, False)]
    )
    for dtype, tf32 in [(torch.float32, False), *dtypes]:
        yield from _products(dtype, tf32=tf32, gpu=gpu)
        yield from _convolutions(dtype, tf32=tf32, gpu=gpu)
    for dtype in dict.fromkeys(dtype for dtype, _ in [(torch.float32, False), *dtypes]):
        yield from _attention(dtype, gpu=gpu)
        yield from _memory_bound(dtype, gpu=gpu)
    yield from _launches()


def _products(dtype: torch.dtype, *, tf32: bool, gpu: bool) -> Iterator[Operator]:
    """Squares, and the shapes of transformers' projections by their tokens."""
    squares = (512, 1024, 2048, 4096, 8192, 16384) if gpu else (128, 256, 512, 1024, 2048)
    shapes = [(size, size, size) for size in squares]
    hidden = (1024, 4096) if gpu else (256, 768)
    for tokens in (64, 128, 256, 512, 1024, 2048, 4096, 8192) if gpu else (16, 128, 1024):
        shapes += [(tokens, each * wide, each) for each in hidden for wide in (1, 4)]
        shapes += [(tokens, each, 4 * each) for each in hidden]
    shapes += [(size + 1, size + 1, size + 1) for size in squares[2:4]]
    for m, n, k in dict.fromkeys(shapes):
        yield Operator(
            name="matmul",
            dtype=dtype,
            shape=f"m={m} n={n} k={k}",
            flop=2.0 * m * n * k,
            moved=float(dtype.itemsize * (m * k + k * n + m * n)),
            make=partial(_product, (m, n, k), dtype),
            calls=_calls(2.0 * m * n * k, gpu=gpu),
            tf32=tf32,
        )


def _product(sizes: tuple[int, int, int], dtype: torch.dtype) -> Call:
    m, n, k = sizes
    left, right = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    out = torch.empty(m, n, dtype=dtype)
    return partial(torch.mm, left, right, out=out)


def _calls(flop: float, *, gpu: bool) -> int:
    """Calls that take about a millisecond on a GPU, some on a processor."""
    return max(1, min(64, round((1e11 if gpu else 1e9) / flop)))


def _convolutions(dtype: torch.dtype, *, tf32: bool, gpu: bool) -> Iterator[Operator]:
    """The kinds of ResNet-50's convolutions and one per channel, forward and with backward."""
    batch = 64 if gpu else 1
    kinds: tuple[tuple[int, ...], ...] = (
        (3, 64, 7, 224, 2, 1),
        (64, 64, 1, 56, 1, 1),
        (64, 64, 3, 56, 1, 1),
        (256, 64, 1, 56, 1, 1),
        (128, 128, 3, 28, 1, 1),
        (256, 256, 3, 14, 1, 1),
        (1024, 256, 1, 14, 1, 1),
        (512, 512, 3, 7, 1, 1),
        (96, 96, 3, 56, 1, 96),
    )
    for kind in kinds:
        for last in (False, True):
            for backward in (False, True):
                yield _convolution(
                    kind, batch, dtype=dtype, last=last, backward=backward, tf32=tf32
                )


def _convolution(
    kind: tuple[int, ...],
    batch: int,
    *,
    dtype: torch.dtype,
    last: bool,
    backward: bool,
    tf32: bool,
) -> Operator:
    inputs, outputs, size, side, stride, groups = kind
    out = side // stride
    flop = 2.0 * batch * outputs * inputs // groups * size**2 * out**2
    values = batch * (inputs * side**2 + outputs * out**2) + outputs * inputs // groups * size**2
    order = "nhwc" if last else "nchw"
    return Operator(
        name="convolution",
        direction="forward+backward" if backward else "forward",
        dtype=dtype,
        shape=f"n={batch} c={inputs} f={outputs} k={size} side={side} stride={stride} "
        f"groups={groups} {order}",
        flop=flop * (3 if backward else 1),
        moved=float(values * dtype.itemsize * (3 if backward else 1)),
        make=partial(_convolve, kind, batch, dtype=dtype, last=last, backward=backward),
        tf32=tf32,
    )


def _convolve(
    kind: tuple[int, ...], batch: int, *, dtype: torch.dtype, last: bool, backward: bool
) -> Call:
    inputs, outputs, size, side, stride, groups = kind
    order = torch.channels_last if last else torch.contiguous_format
    images = torch.randn(batch, inputs, side, side).to(dtype).contiguous(memory_format=order)
    weights = torch.randn(outputs, inputs // groups, size, size).to(dtype)
    weights = weights.contiguous(memory_format=order)
    call = partial(
        functional.conv2d, images, weights, stride=stride, padding=size // 2, groups=groups
    )
    return _both_ways(call, (images, weights)) if backward else call


def _both_ways(call: Callable[[], Tensor], learned: tuple[Tensor, ...]) -> Call:
    """Forward, and backward to what is learned."""
    for each in learned:
        each.requires_grad_()
    gradient = torch.ones_like(call())

    def both() -> None:
        torch.autograd.grad(call(), learned, gradient)

    return both


def _attention(dtype: torch.dtype, *, gpu: bool) -> Iterator[Operator]:
    """Causal attention by the length of the sequence, fused and not, forward and with backward."""
    heads, width = (16, 64) if gpu else (4, 64)
    lengths = (512, 1024, 2048, 4096, 8192) if gpu else (128, 256, 512, 1024)
    for tokens in lengths:
        samples = max(1, (16384 if gpu else 1024) // tokens)
        for fused in (True, False) if tokens <= 4096 else (True,):
            for backward in (False, True):
                shape = (samples, heads, tokens, width)
                flop = 2.0 * samples * heads * tokens**2 * width
                yield Operator(
                    name="attention" if fused else "attention unfused",
                    direction="forward+backward" if backward else "forward",
                    dtype=dtype,
                    shape=f"n={samples} heads={heads} tokens={tokens} width={width}",
                    flop=flop * (3.5 if fused else 3.0) if backward else flop,
                    moved=float(4 * samples * heads * tokens * width * dtype.itemsize),
                    make=partial(_attend, shape, dtype, fused=fused, backward=backward),
                )


def _attend(shape: tuple[int, ...], dtype: torch.dtype, *, fused: bool, backward: bool) -> Call:
    query, key, value = (torch.randn(shape).to(dtype) for _ in range(3))
    tokens, width = shape[-2:]
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)

    def call() -> Tensor:
        if fused:
            return functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        scores = (query @ key.transpose(-2, -1) * width**-0.5).masked_fill(later, float("-inf"))
        return scores.softmax(dim=-1) @ value

    return _both_ways(call, (query, key, value)) if backward else call


def _memory_bound(dtype: torch.dtype, *, gpu: bool) -> Iterator[Operator]:
    """Operators that only move values, by how many."""
    sizes = (2**20, 2**24, 2**28) if gpu else (2**16, 2**20, 2**24)
    for values in sizes:
        rows, size = values // 1024, dtype.itemsize
        for name, passes, function in (
            ("copy", 2, lambda x, y: y.copy_(x)),
            ("add", 3, torch.add),
            ("gelu", 2, lambda x, _: functional.gelu(x)),
            ("softmax", 2, lambda x, _: torch.softmax(x, -1)),
            ("layer norm", 2, lambda x, _: functional.layer_norm(x, (1024,))),
            ("dropout", 2, lambda x, _: functional.dropout(x)),
            ("relu in place", 2, lambda x, _: torch.relu_(x)),
        ):
            yield Operator(
                name=name,
                dtype=dtype,
                shape=f"rows={rows} columns=1024",
                moved=float(passes * values * size),
                make=partial(_move, (rows, 1024), dtype, function),
                calls=max(1, 2**22 // values),
            )


def _move(
    shape: tuple[int, int], dtype: torch.dtype, function: Callable[[Tensor, Tensor], object]
) -> Call:
    values, other = (torch.randn(shape).to(dtype) for _ in range(2))
    return partial(function, values, other)


def _launches() -> Iterator[Operator]:
    """Kernels with nothing to do, one after the other: what one costs to start."""
    for name, function in (
        ("launch of add", lambda x, y: torch.add(x, y, out=y)),
        ("launch of matmul", lambda x, y: torch.mm(x, x, out=y)),
    ):
        yield Operator(
            name=name,
            dtype=torch.float32,
            shape="8 x 8",
            make=partial(_move, (8, 8), torch.float32, function),
            calls=1000,
        )
