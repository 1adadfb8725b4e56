"""What a host takes to call the operators of a layer, without a device to start kernels on.

    python validation/device/host.py

Runs the layer of a transformer whose tensors are so small that processor time is spent on calls
alone: through modules, dispatch and autograd, as PyTorch runs it eagerly. Prints microseconds per
operator as foretrain counts them (13 in a layer with plain attention), of a layer's checkpoint
beside its second forward pass, and of an all-reduce with a single member. Needs PyTorch alone.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable

import torch
import torch.distributed
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

LAYERS, TURNS, WARM = 24, 40, 5
OPERATORS = 13
"""Of a layer: 2 norms, 6 products, softmax with scale and mask, dropout, 2 sums with it, GELU."""


class Layer(nn.Module):
    """A layer of GPT, its operators called one by one."""

    def __init__(self, hidden: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.mixed = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.wide, self.narrow = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.drop, self.drop_scores = nn.Dropout(0.1), nn.Dropout(0.1)
        self.gelu, self.softmax = nn.GELU(), nn.Softmax(-1)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Attention with its scores written out, and two products."""
        batch, length, _ = values.shape
        apart = self.mixed(self.before(values)).view(batch, length, self.heads, -1)
        query, key, value = (
            each.permute(0, 2, 1, 3).reshape(batch * self.heads, length, -1)
            for each in apart.chunk(3, -1)
        )
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        seen = self.drop_scores(self.softmax(scores.masked_fill(mask, -1e4)))
        context = torch.bmm(seen, value).view(batch, self.heads, length, -1)
        values = values + self.drop(self.out(context.permute(0, 2, 1, 3).reshape(values.shape)))
        return values + self.drop(self.narrow(self.gelu(self.wide(self.between(values)))))


def least(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Processor seconds of both passes, each the least of many turns."""
    turns = [run() for _ in range(WARM + TURNS)][WARM:]
    return min(forward for forward, _ in turns), min(backward for _, backward in turns)


def passes(layers: nn.ModuleList, *, again: bool) -> tuple[float, float]:
    """Processor seconds of a forward and a backward pass."""
    values, mask = torch.randn(1, 8, 32, requires_grad=True), torch.zeros(8, 8, dtype=torch.bool)
    began = time.process_time()
    for layer in layers:
        values = (
            checkpoint(layer, values, mask, use_reentrant=True) if again else layer(values, mask)
        )
    turned = time.process_time()
    values.sum().backward()
    return turned - began, time.process_time() - turned


def exchange() -> float:
    """Processor seconds of an all-reduce of one member."""
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29999")
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    values = torch.zeros(8)
    took = []
    for _ in range(200):
        began = time.process_time()
        torch.distributed.all_reduce(values)
        took.append(time.process_time() - began)
    torch.distributed.destroy_process_group()
    return sorted(took)[len(took) // 2]


class CallCounter(TorchDispatchMode):
    """Counts what is called, in both passes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN204, PLR0917
        """Count a call and let it be."""
        self.calls += 1
        return func(*args, **(kwargs or {}))


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    layers = nn.ModuleList(Layer() for _ in range(LAYERS))
    forward, backward = least(lambda: passes(layers, again=False))
    first, returned = least(lambda: passes(layers, again=True))
    beside = first + returned - 2.0 * forward - backward
    each = LAYERS * OPERATORS
    print(f"PyTorch {torch.__version__}, one thread")
    with CallCounter() as counted:
        passes(layers[:1], again=False)
    print(f"calls of a layer       {counted.calls:8d}")
    print(f"an operator, forward   {forward / each * 1e6:8.1f} us")
    print(f"an operator, backward  {backward / each * 1e6:8.1f} us")
    print(f"a layer's checkpoint   {beside / LAYERS * 1e6:8.1f} us")
    print(f"an exchange            {exchange() * 1e6:8.1f} us")


if __name__ == "__main__":
    main()
