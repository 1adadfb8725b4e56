"""The models that foretrain knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.errors import InputError, nearest
from foretrain.workload.graph import Model
from foretrain.workload.library.convolution import resnet_50
from foretrain.workload.library.transformer import Decoder, decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model of the library.

    Attributes:
        name: catalogue name.
        shape: the decoder's; None for a network of images.
        source: key in references.bib, with the table.
        summary: one line for people.
    """

    name: str
    shape: Decoder | None
    source: str
    summary: str


def _gpt(name: str, *, layers: int, hidden: int, heads: int, source: str) -> Entry:
    """GPT as Megatron-LM trains it: vocabulary padded to 51,200, dropout, tied embedding."""
    shape = Decoder(
        layers=layers,
        hidden=hidden,
        feed_forward=4 * hidden,
        heads=heads,
        kv_heads=heads,
        vocabulary=51_200,
        bias=True,
        dropout=True,
        positions=True,
        tied=True,
    )
    summary = f"GPT decoder, {layers} layers of {hidden}, {heads} heads"
    return Entry(name=name, shape=shape, source=source, summary=summary)


def _llama(name: str, shape: Decoder, source: str) -> Entry:
    summary = (
        f"Llama decoder, {shape.layers} layers of {shape.hidden}, {shape.heads} heads "
        f"({shape.kv_heads} key-value)"
    )
    return Entry(name=name, shape=shape, source=source, summary=summary)


def _llama_shape(sizes: tuple[int, int, int, int, int], vocabulary: int) -> Decoder:
    """`sizes`: layers, hidden, feed_forward, heads, kv_heads."""
    layers, hidden, feed_forward, heads, kv_heads = sizes
    return Decoder(
        layers=layers,
        hidden=hidden,
        feed_forward=feed_forward,
        heads=heads,
        kv_heads=kv_heads,
        vocabulary=vocabulary,
        gated=True,
    )


_KORTHIKANTI = "korthikanti2022, table 3"
_NARAYANAN = "narayanan2021, table 1"
_LLAMA_2 = "touvron2023, table 1 and the published configuration"
_LLAMA_3 = "grattafiori2024, table 3"

_ENTRIES = (
    _gpt("megatron-1.7b", layers=24, hidden=2304, heads=24, source=_NARAYANAN),
    _gpt("megatron-3.6b", layers=30, hidden=3072, heads=32, source=_NARAYANAN),
    _gpt("megatron-7.5b", layers=36, hidden=4096, heads=32, source=_NARAYANAN),
    _gpt("megatron-18.4b", layers=40, hidden=6144, heads=48, source=_NARAYANAN),
    _gpt("megatron-22b", layers=48, hidden=6144, heads=64, source=_KORTHIKANTI),
    _gpt("megatron-39.1b", layers=48, hidden=8192, heads=64, source=_NARAYANAN),
    _gpt("megatron-76.1b", layers=60, hidden=10240, heads=80, source=_NARAYANAN),
    _gpt("megatron-145.6b", layers=80, hidden=12288, heads=96, source=_NARAYANAN),
    _gpt("gpt-3-175b", layers=96, hidden=12288, heads=96, source=_KORTHIKANTI),
    _gpt("megatron-310.1b", layers=96, hidden=16384, heads=128, source=_NARAYANAN),
    _gpt("mt-nlg-530b", layers=105, hidden=20480, heads=128, source=_KORTHIKANTI),
    _gpt("megatron-1t", layers=128, hidden=25600, heads=160, source=_KORTHIKANTI),
    _llama("llama-2-7b", _llama_shape((32, 4096, 11008, 32, 32), 32_000), _LLAMA_2),
    _llama("llama-2-13b", _llama_shape((40, 5120, 13824, 40, 40), 32_000), _LLAMA_2),
    _llama("llama-2-70b", _llama_shape((80, 8192, 28672, 64, 8), 32_000), _LLAMA_2),
    _llama("llama-3-8b", _llama_shape((32, 4096, 14336, 32, 8), 128_256), _LLAMA_3),
    _llama("llama-3-70b", _llama_shape((80, 8192, 28672, 64, 8), 128_256), _LLAMA_3),
    _llama("llama-3-405b", _llama_shape((126, 16384, 53248, 128, 8), 128_256), _LLAMA_3),
    Entry(
        name="resnet-50",
        shape=None,
        source="he2016, table 1",
        summary="ResNet-50 v1.5, 16 bottlenecks, 1000 classes",
    ),
)

ENTRIES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "gpt3-175b": "gpt-3-175b",
        "gpt-3": "gpt-3-175b",
        "megatron-530b": "mt-nlg-530b",
        "megatron-529.6b": "mt-nlg-530b",
        "turing-530b": "mt-nlg-530b",
        "megatron-1008b": "megatron-1t",
        "llama-3.1-8b": "llama-3-8b",
        "llama-3.1-70b": "llama-3-70b",
        "llama-3.1-405b": "llama-3-405b",
        "resnet50": "resnet-50",
    }
)


def find(name: str) -> Entry:
    """The entry of a name or alias.

    Raises:
        InputError: the library has no such model; the message lists those it has.
    """
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    key = ALIASES.get(key, key)
    if key not in ENTRIES:
        raise InputError(
            f"unknown model '{name}'.{nearest(key, [*ENTRIES, *ALIASES])} "
            f"Known: {', '.join(ENTRIES)}."
        )
    return ENTRIES[key]


def build(name: str, *, sequence: int | None = None, image: int | None = None) -> Model:
    """A model of the library for samples of one shape.

    Args:
        name: catalogue name or alias.
        sequence: tokens per sample, for transformers.
        image: pixels per side, for networks of images.

    Raises:
        InputError: an unknown name, or a missing or superfluous shape.
    """
    entry = find(name)
    if entry.shape is None:
        if sequence is not None or image is None:
            raise InputError(
                f"model '{entry.name}' reads images: give image (pixels), no sequence."
            )
        return resnet_50(image=image, source=entry.source)
    if image is not None or sequence is None:
        raise InputError(f"model '{entry.name}' reads tokens: give sequence (tokens), no image.")
    return decoder(entry.name, entry.shape, sequence=sequence, source=entry.source)
