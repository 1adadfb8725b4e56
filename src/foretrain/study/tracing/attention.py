"""Attention as one operator while a network is traced, whoever computes it.

On the meta device PyTorch takes attention apart into products and a softmax that keep every score.
Here it stays one operator that keeps queries, keys, values, outputs and one sum for each row, as
fused kernels do; what the plain kernels would do follows from its shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

SCHEMA: Final = (
    "(Tensor queries, Tensor keys, Tensor values, Tensor? bias, bool causal, int window, "
    "float dropout) -> (Tensor, Tensor)"
)
GRADIENTS: Final = (
    "(Tensor gradient, Tensor queries, Tensor keys, Tensor values, Tensor? bias) "
    "-> (Tensor, Tensor, Tensor, Tensor)"
)


@cache
def operator() -> Any:
    """The operator `foretrain::attention`, registered when it is first wanted."""
    import torch

    make = torch.library.custom_op
    forward = make("foretrain::attention", _unwanted, mutates_args=(), schema=SCHEMA)
    backward = make("foretrain::attention_backward", _unwanted, mutates_args=(), schema=GRADIENTS)
    forward.register_fake(_outputs)
    backward.register_fake(_gradients)

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:4], *output)

    def come_back(context: Any, gradient: Any, _: Any) -> Any:
        *found, bias = backward(gradient, *context.saved_tensors[:4])
        return (*found, bias if context.needs_input_grad[3] else None, None, None, None)

    forward.register_autograd(come_back, setup_context=keep)
    return forward


def _unwanted(*_: object) -> None:
    raise NotImplementedError("foretrain::attention has shapes alone.")


def _outputs(queries: Any, keys: Any, values: Any, *_: object) -> Any:
    """The outputs and, in fp32, one sum for each row.

    Fused kernels write all heads of a token side by side, as the product behind them reads them.
    """
    import torch

    *more, heads, tokens, _width = queries.shape if queries.dim() > 2 else (1, *queries.shape)
    found = queries.new_empty((*more, tokens, heads, values.shape[-1])).transpose(-2, -3)
    found = found.reshape((*queries.shape[:-1], values.shape[-1])) if queries.dim() < 3 else found
    return found, queries.new_empty(queries.shape[:-1], dtype=torch.float32)


def _gradients(gradient: Any, *kept: Any) -> Any:
    """Gradients of queries, keys, values and bias."""
    import torch

    found = [gradient.new_empty(0) if each is None else torch.empty_like(each) for each in kept]
    return tuple(found)


def attended(  # noqa: PLR0917 - the signature is PyTorch's
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **_: object,
) -> torch.Tensor:
    """Scaled dot-product attention, as PyTorch calls it.

    What a mask hides is in its content, which nobody knows here: every pair is taken to be seen.
    """
    bias = attn_mask if attn_mask is not None and attn_mask.requires_grad else None
    found: torch.Tensor = operator()(query, key, value, bias, is_causal, 0, float(dropout_p))[0]
    return found


def dropped(given: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """Dropout as on a GPU: one kernel that keeps a byte for each value."""
    import torch

    found: torch.Tensor = torch.native_dropout(given, p, train)[0] if train and p else given
    return found


@contextmanager
def whole() -> Iterator[None]:
    """While this lasts, attention and dropout on the meta device are one operator each."""
    import torch

    operator()
    place = torch.library.Library("aten", "IMPL")
    try:
        place.impl("scaled_dot_product_attention", attended, "AutogradMeta")
        place.impl("dropout", dropped, "AutogradMeta")
        yield
    finally:
        place._destroy()
