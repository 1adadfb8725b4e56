"""Attention and scans, each as one operator while a network is traced.

Attention as one operator while a network is traced, whoever computes it.

On the meta device PyTorch takes attention apart into products and a softmax that keep every score.
Here it stays one operator that keeps queries, keys, values, outputs and one sum for each row, as
fused kernels do; what the plain kernels would do follows from its shape.

Selective scans as one scan_operator while a network is traced: a state handed from token to token.

Without the kernel of its authors, code of transformers goes over the tokens one by one, which a
trace would follow for minutes. The kernel reads its inputs once, keeps them, and makes the states
anew in its backward pass.

Source: gu2023, section 3.3.2 (what the fused scan reads, writes and keeps).
"""

from __future__ import annotations

import sys
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


SCAN_SCHEMA: Final = (
    "(Tensor x, Tensor step, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? z) -> Tensor"
)
SCAN_GRADIENTS: Final = (
    "(Tensor gradient, Tensor x, Tensor step, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? z) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)
SCANS: Final = "mamba_selective_scan"
"""The function of transformers' modules that goes over the tokens."""


@cache
def scan_operator() -> Any:
    """The scan_operator `foretrain::scan`, registered when it is first wanted."""
    import torch

    make = torch.library.custom_op
    forward = make("foretrain::scan", _scan_unwanted, mutates_args=(), schema=SCAN_SCHEMA)
    backward = make(
        "foretrain::scan_backward", _scan_unwanted, mutates_args=(), schema=SCAN_GRADIENTS
    )
    forward.register_fake(lambda x, *_: torch.empty_like(x))
    backward.register_fake(_scan_gradients)

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def come_back(ctx: Any, gradient: Any) -> Any:
        kept = ctx.saved_tensors
        found = backward(gradient, *kept)
        return tuple(each if kept[place] is not None else None for place, each in enumerate(found))

    forward.register_autograd(come_back, setup_context=keep)
    return forward


def _scan_unwanted(*_: object) -> None:
    raise NotImplementedError("foretrain::scan has shapes alone.")


def _scan_gradients(gradient: Any, *kept: Any) -> Any:
    import torch

    found = [gradient.new_empty(0) if each is None else torch.empty_like(each) for each in kept]
    return tuple(found)


def scanned(  # noqa: PLR0917 - the signature is that of the kernel
    x: torch.Tensor,
    step: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    **options: Any,
) -> Any:
    """A selective scan as transformers calls it."""
    bias = options.get("delta_bias")
    step = step if bias is None else step + bias.to(step.dtype)[..., None]
    out = scan_operator()(x, step, a, b, c, options.get("D"), options.get("z"))
    if options.get("return_last_state"):
        return out, x.new_empty((x.shape[0], x.shape[1], a.shape[-1]))
    return out


@contextmanager
def scans(module: torch.nn.Module) -> Iterator[None]:
    """While this lasts, selective scans of a network of transformers are one scan_operator."""
    homes = {type(each).__module__ for each in module.modules()}
    places = [sys.modules[home] for home in homes if hasattr(sys.modules[home], SCANS)]
    before = [getattr(place, SCANS) for place in places]
    mixers = [each for each in module.modules() if SCANS in vars(each)]
    own = [vars(each)[SCANS] for each in mixers]
    try:
        for each in (*places, *mixers):
            setattr(each, SCANS, scanned)
        yield
    finally:
        for pair in zip((*places, *mixers), (*before, *own), strict=True):
            setattr(pair[0], SCANS, pair[1])
