"""Gradients: in which form they are added up and sent.

A codec that loses something changes what is learned, so it belongs to the workload. Lossy ones add
what they lost to the next step's gradients (error feedback), and keep it until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.errors import InputError
from foretrain.workload.graph import Model

FP32_BYTES = 4.0
INDEX_BYTES = 4.0

FEEDBACK = 3 * FP32_BYTES
"""Bytes moved per gradient by error feedback: what was lost is read, added and written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientCodec:
    """The form in which gradients are kept, added up and sent. All sizes are per gradient.

    Attributes:
        name: as studies write it.
        held_bytes: bytes of the buffer in which micro-batches add up.
        wire_bytes: bytes of one member's message.
        kept_bytes: bytes of error feedback kept from step to step.
        encode_bytes: bytes of memory read and written to encode a message.
        decode_bytes: bytes of memory read and written to decode one message; where messages do not
            add up there is one from every member.
        adds_up: whether an all-reduce can add messages on their way; otherwise every member
            gathers the messages of all.
        source: key in references.bib.
    """

    name: str
    held_bytes: float = FP32_BYTES
    wire_bytes: float
    kept_bytes: float = 0.0
    encode_bytes: float = 0.0
    decode_bytes: float = 0.0
    adds_up: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("held_bytes", "wire_bytes"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"GradientCodec.{name} must be above 0 bytes, got {getattr(self, name)}."
                )
        for name in ("kept_bytes", "encode_bytes", "decode_bytes"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"GradientCodec.{name} must be at least 0 bytes, got {getattr(self, name)}."
                )


FP32 = GradientCodec(name="fp32", wire_bytes=4.0, source="korthikanti2022, section 4.1")


def _exchanged_twice(name: str, wire: float, source: str) -> GradientCodec:
    """Scaled integers: each member adds up a part of all, encodes the sum and hands it on.

    That moves as much as an all-reduce of the messages does.
    """
    return GradientCodec(
        name=name,
        wire_bytes=wire,
        kept_bytes=FP32_BYTES,
        encode_bytes=FP32_BYTES + FEEDBACK + wire,
        decode_bytes=wire + FP32_BYTES,
        source=source,
    )


CODECS: Mapping[str, GradientCodec] = MappingProxyType(
    {
        codec.name: codec
        for codec in (
            FP32,
            GradientCodec(name="bf16", held_bytes=2.0, wire_bytes=2.0, source="zhao2023"),
            GradientCodec(
                name="fp16", held_bytes=2.0, wire_bytes=2.0, source="micikevicius2018, section 3"
            ),
            # An fp32 scale per 512 values, and per 2048 where only signs are sent.
            _exchanged_twice("int8", 1 + 4 / 512, "alistarh2017, section 3"),
            _exchanged_twice("1-bit", 1 / 8 + 4 / 2048, "tang2021, section 4"),
        )
    }
)
"""Codecs that need no number, by name."""


def top(share: float) -> GradientCodec:
    """The largest gradients alone, each with its position; different ones on every member.

    Args:
        share: fraction of the gradients that is sent.

    Source: aji2017, section 3; lin2018 (the rest waits in the error feedback).
    """
    if not 0 < share <= 1:
        raise InputError(f"gradients.top must be above 0 % and at most 100 %, got {share:%}.")
    wire = share * (FP32_BYTES + INDEX_BYTES)
    return GradientCodec(
        name=f"top {100 * share:g} %",
        wire_bytes=wire,
        kept_bytes=FP32_BYTES,
        # The threshold is found on a sample; one more pass picks what is above it.
        encode_bytes=FP32_BYTES + FEEDBACK + wire,
        decode_bytes=wire + share * 2 * FP32_BYTES,
        adds_up=False,
        source="aji2017, section 3",
    )


def power_sgd(rank: int, model: Model) -> GradientCodec:
    """Every matrix of gradients as a product of two thin ones, of `rank` columns and rows.

    A message is the mean over the matrices of a model; vectors are sent as they are.

    Source: vogels2019, algorithm 1.
    """
    if not rank >= 1:
        raise InputError(f"gradients.powersgd must be at least 1, got {rank}.")
    sent, whole = 0.0, 0.0
    for layer, operator in model.operators:
        values, product = operator.trainable, operator.matrices
        if product is not None:
            matrices = values / (product.columns * product.depth)
            thin = matrices * rank * (product.columns + product.depth)
        else:
            thin = rank * (operator.units + values / operator.units) if operator.units else values
        sent += layer.repeats * min(values, thin)
        whole += layer.repeats * values
    wire = FP32_BYTES * sent / whole
    return GradientCodec(
        name=f"powersgd {rank}",
        wire_bytes=wire,
        kept_bytes=FP32_BYTES,
        # Two thin products, each of which reads every gradient once.
        encode_bytes=2 * FP32_BYTES + FEEDBACK + wire,
        decode_bytes=wire + FP32_BYTES,
        source="vogels2019, algorithm 1",
    )
