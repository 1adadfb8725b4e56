"""Nemotron-H and Nemotron 3: a pattern of Mamba-2, attention and feed-forward layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.state_space import StateSpace

_SEVEN = "M-M-M-M*-" + 3 * "M-M-M-M-M*-" + "M-M-M-M-M-"
_NANO = "MEMEM*E" + 4 * "MEMEM*E" + "MEMEMEM*E" + "MEMEMEME"

_SUPER = 3 * ("MEMEMEM*E" + "MEMEMEMEM*E") + "MEMEMEM*E" + "MEMEMEMEM*E" + "MEMEMEME"

_NAMES = {"M": "state-space block", "*": "attention block", "-": "feed-forward block"}


def _pattern(pattern: str, kinds: Mapping[str, Block]) -> tuple[Run, ...]:
    """Runs of equal neighbours: M Mamba-2, * attention, - feed-forward part, E experts."""
    return tuple(
        Run(
            blocks=(kinds[letter],),
            repeats=len(list(same)),
            name=_NAMES.get(letter, "expert block"),
        )
        for letter, same in groupby(pattern)
    )


def _grouped(heads: int, kv_heads: int) -> Block:
    return Block(mixer=Heads(heads=heads, kv_heads=kv_heads, width=128, rotary=False))


_SUPER_SHAPE = language(
    4096,
    131_072,
    _pattern(
        _SUPER,
        {
            "M": Block(mixer=StateSpace(heads=128, width=64, groups=8, state=128)),
            "*": _grouped(32, 2),
            "E": Block(
                feed_forward=Experts(
                    count=512,
                    chosen=22,
                    each=FeedForward(width=2688),
                    shared=FeedForward(width=5376),
                    router_bias=True,
                    latent=1024,
                )
            ),
        },
    ),
)

ENTRIES: tuple[Entry, ...] = (
    text_entry(
        "nemotron-h-8b",
        language(
            4096,
            131_072,
            _pattern(
                _SEVEN,
                {
                    "M": Block(mixer=StateSpace(heads=128, width=64, groups=8, state=128)),
                    "*": _grouped(32, 8),
                    "-": Block(feed_forward=FeedForward(width=21_504)),
                },
            ),
        ),
        kind="Nemotron-H",
        source="blakeman2025, table 1 (from memory)",
    ),
    text_entry(
        "nemotron-3-nano",
        language(
            2688,
            131_072,
            _pattern(
                _NANO,
                {
                    "M": Block(mixer=StateSpace(heads=64, width=64, groups=8, state=128)),
                    "*": _grouped(32, 2),
                    "E": Block(
                        feed_forward=Experts(
                            count=128,
                            chosen=6,
                            each=FeedForward(width=1856),
                            shared=FeedForward(width=3712),
                            router_bias=True,
                        )
                    ),
                },
            ),
        ),
        kind="Nemotron 3",
        source="nemotron3, table 1 (from memory)",
        aliases=("nemotron-3-nano-30b-a3b",),
    ),
    *(
        text_entry(
            name,
            replace(_SUPER_SHAPE, predictions=predictions),
            kind="Nemotron 3",
            source="nemotron3, published configuration of Super (from memory, low confidence)",
            aliases=aliases,
        )
        for name, predictions, aliases in (
            ("nemotron-3-super", 0, ("nemotron-3-super-120b-a12b",)),
            ("nemotron-3-super-mtp", 2, ()),
        )
    ),
)
