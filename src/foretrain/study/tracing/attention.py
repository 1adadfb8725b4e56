"""Attention as one operator while a network is traced, whoever computes it.

On the meta device PyTorch takes attention apart into products and a softmax that keep every score.
Here it stays one operator that keeps queries, keys, values, outputs and one sum for each row, as
fused kernels do; what the plain kernels would do follows from its shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@cache
def operator() -> Any:  # noqa: ANN401 - what PyTorch makes of a function has no type of its own
    """The operator `foretrain::attention`, registered when it is first wanted."""
    import torch

    # PyTorch reads the types of these functions, which must therefore be there when it does.
    def attention(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, c: bool, w: int, p: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError

    def returned(
        g: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        raise NotImplementedError

    tensors = {"Tensor": torch.Tensor}
    pair, triple = tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    attention.__annotations__ = dict.fromkeys("qkv", tensors["Tensor"]) | {
        "c": bool, "w": int, "p": float, "return": pair,
    }  # fmt: skip
    returned.__annotations__ = dict.fromkeys("gqkv", tensors["Tensor"]) | {"return": triple}
    forward = torch.library.custom_op("foretrain::attention", attention, mutates_args=())
    backward = torch.library.custom_op("foretrain::attention_backward", returned, mutates_args=())
    forward.register_fake(
        lambda q, k, v, c, w, p: (
            q.new_empty((*q.shape[:-1], v.shape[-1])),
            q.new_empty(q.shape[:-1], dtype=torch.float32),
        )
    )
    backward.register_fake(
        lambda g, q, k, v: (torch.empty_like(q), torch.empty_like(k), torch.empty_like(v))
    )

    def keep(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ANN401
        ctx.save_for_backward(*inputs[:3], *output)

    def come_back(ctx: Any, gradient: Any, _: Any) -> Any:  # noqa: ANN401
        found = backward(gradient, *ctx.saved_tensors[:3])
        return (*found, None, None, None)

    forward.register_autograd(come_back, setup_context=keep)
    return forward


def attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # noqa: PLR0917 - the signature is PyTorch's
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Scaled dot-product attention, as PyTorch calls it.

    A mask says nothing on the meta device, so every pair is taken to be seen. One that is learned
    has a gradient, which needs every score: such attention is left to be taken apart.
    """
    found: torch.Tensor = operator()(query, key, value, is_causal, 0, float(dropout_p))[0]
    if attn_mask is not None and attn_mask.requires_grad:
        found = found + attn_mask.sum() * 0
    return found


@contextmanager
def whole() -> Iterator[None]:
    """While this lasts, attention of tensors on the meta device is one operator."""
    import torch

    operator()
    place = torch.library.Library("aten", "IMPL")
    try:
        place.impl("scaled_dot_product_attention", attended, "AutogradMeta")
        yield
    finally:
        place._destroy()
