"""Selective scans as one operator while a network is traced: a state handed from token to token.

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
    "(Tensor x, Tensor step, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? z) -> Tensor"
)
GRADIENTS: Final = (
    "(Tensor gradient, Tensor x, Tensor step, Tensor a, Tensor b, Tensor c, Tensor? d, Tensor? z) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)
SCANS: Final = "mamba_selective_scan"
"""The function of transformers' modules that goes over the tokens."""


@cache
def operator() -> Any:
    """The operator `foretrain::scan`, registered when it is first wanted."""
    import torch

    make = torch.library.custom_op
    forward = make("foretrain::scan", _unwanted, mutates_args=(), schema=SCHEMA)
    backward = make("foretrain::scan_backward", _unwanted, mutates_args=(), schema=GRADIENTS)
    forward.register_fake(lambda x, *_: torch.empty_like(x))
    backward.register_fake(_gradients)

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def come_back(ctx: Any, gradient: Any) -> Any:
        kept = ctx.saved_tensors
        found = backward(gradient, *kept)
        return tuple(each if kept[place] is not None else None for place, each in enumerate(found))

    forward.register_autograd(come_back, setup_context=keep)
    return forward


def _unwanted(*_: object) -> None:
    raise NotImplementedError("foretrain::scan has shapes alone.")


def _gradients(gradient: Any, *kept: Any) -> Any:
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
    out = operator()(x, step, a, b, c, options.get("D"), options.get("z"))
    if options.get("return_last_state"):
        return out, x.new_empty((x.shape[0], x.shape[1], a.shape[-1]))
    return out


@contextmanager
def scans(module: torch.nn.Module) -> Iterator[None]:
    """While this lasts, selective scans of a network of transformers are one operator."""
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
