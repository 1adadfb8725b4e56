"""GPT as Megatron-LM trains it: vocabulary padded to 51,200, dropout, tied embedding."""

from __future__ import annotations

from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry
from foretrain.workload.parts.language_model import Decoder, decoder

_BROWN = "brown2020, table 2.1 (sizes rounded to whole heads)"
_NEMO = "nemo, configurations of GPT-3"
_KORTHIKANTI = "korthikanti2022, table 3"
_SHOEYBI = "shoeybi2019, table 1"
_NARAYANAN = "narayanan2021, table 1"


def _build(shape: Decoder, sequence: int) -> Model:
    return decoder("gpt", shape, sequence=sequence)


def _gpt(
    name: str, *, layers: int, hidden: int, heads: int, source: str, aliases: tuple[str, ...] = ()
) -> Entry:
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
    return Entry(
        name=name,
        summary=f"GPT decoder, {layers} layers of {hidden}, {heads} heads",
        source=source,
        build=partial(_build, shape),
        shape=shape,
        aliases=aliases,
    )


ENTRIES = (
    _gpt("gpt-3-125m", layers=12, hidden=768, heads=12, source=_BROWN),
    _gpt("gpt-3-350m", layers=24, hidden=1024, heads=16, source=_BROWN),
    _gpt("gpt-3-760m", layers=24, hidden=1536, heads=16, source=_BROWN),
    _gpt("gpt-3-1.3b", layers=24, hidden=2048, heads=16, source=_BROWN),
    _gpt("gpt-3-2.7b", layers=32, hidden=2560, heads=32, source=_BROWN),
    _gpt("gpt-3-6.7b", layers=32, hidden=4096, heads=32, source=_BROWN),
    _gpt("gpt-3-13b", layers=40, hidden=5120, heads=40, source=_BROWN),
    _gpt("gpt-3-5b", layers=24, hidden=4096, heads=32, source=_NEMO, aliases=("gpt-3-5b-(nemo)",)),
    _gpt(
        "gpt-3-20b", layers=44, hidden=6144, heads=48, source=_NEMO, aliases=("gpt-3-20b-(nemo)",)
    ),
    _gpt(
        "megatron-1.2b", layers=40, hidden=1536, heads=16, source=_SHOEYBI, aliases=("gpt-2-1.2b",)
    ),
    _gpt("megatron-2.5b", layers=54, hidden=1920, heads=20, source=_SHOEYBI),
    _gpt("megatron-4.2b", layers=64, hidden=2304, heads=24, source=_SHOEYBI),
    _gpt(
        "megatron-8.3b",
        layers=72,
        hidden=3072,
        heads=32,
        source=_SHOEYBI,
        aliases=("gpt-2-8.3b", "gpt-2-8.3b-(megatron-2019)"),
    ),
    _gpt("megatron-1.7b", layers=24, hidden=2304, heads=24, source=_NARAYANAN),
    _gpt("megatron-3.6b", layers=30, hidden=3072, heads=32, source=_NARAYANAN),
    _gpt("megatron-7.5b", layers=36, hidden=4096, heads=32, source=_NARAYANAN),
    _gpt("megatron-18.4b", layers=40, hidden=6144, heads=48, source=_NARAYANAN),
    _gpt("megatron-22b", layers=48, hidden=6144, heads=64, source=_KORTHIKANTI),
    _gpt("megatron-39.1b", layers=48, hidden=8192, heads=64, source=_NARAYANAN),
    _gpt("megatron-76.1b", layers=60, hidden=10240, heads=80, source=_NARAYANAN),
    _gpt("megatron-145.6b", layers=80, hidden=12288, heads=96, source=_NARAYANAN),
    _gpt(
        "gpt-3-175b",
        layers=96,
        hidden=12288,
        heads=96,
        source=_KORTHIKANTI,
        aliases=("gpt3-175b", "gpt-3"),
    ),
    _gpt("megatron-310.1b", layers=96, hidden=16384, heads=128, source=_NARAYANAN),
    _gpt(
        "mt-nlg-530b",
        layers=105,
        hidden=20480,
        heads=128,
        source=_KORTHIKANTI,
        aliases=("megatron-530b", "megatron-529.6b", "turing-530b"),
    ),
    _gpt(
        "megatron-1t",
        layers=128,
        hidden=25600,
        heads=160,
        source=_KORTHIKANTI,
        aliases=("megatron-1008b",),
    ),
)
