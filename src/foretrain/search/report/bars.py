"""Stacked bars: time of plans, memory of stages, and what became of the whole space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foretrain.plan.study import Study
from foretrain.search.explain.alive import AliveAt
from foretrain.search.result import SearchResult
from foretrain.show.table import Piece
from foretrain.show.words import count, in_one_unit, percent, written
from foretrain.step.facts import memory_pieces, time_pieces
from foretrain.step.result import Ranked
from foretrain.units import BYTES, SECONDS, Quantity

REASONS = 7
"""Colours that the style sheet has for reasons of refusal, `--refused-0` for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stacked bar: `pieces` have shares of the longest bar."""

    label: str
    total: str
    pieces: tuple[Piece, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of some plans of the space.

    Attributes:
        name: of its colour.
        plans: how many.
        share: of the whole space.
        words: what became of them.
    """

    name: str
    plans: int
    share: float
    words: str


def time_bars(plans: Sequence[Ranked]) -> tuple[Bar, ...]:
    """The parts of a step, one bar per plan; the slowest is as long as the drawing."""
    longest = max(entry.estimate.parts.total for entry in plans)
    return tuple(
        _bar(f"plan {place}", time_pieces(entry.estimate.parts), SECONDS, longest=longest)
        for place, entry in enumerate(plans, start=1)
    )


def memory_bars(study: Study, best: Ranked) -> tuple[Bar, ...]:
    """Memory on a device of every stage; the heaviest, or the capacity, is the whole length."""
    longest = longest_memory(study, best)
    return tuple(
        _bar(f"stage {stage.stage + 1}", memory_pieces(stage, longest), BYTES, longest=longest)
        for stage in best.estimate.memory.stages
    )


def moment_bars(moments: Sequence[AliveAt], capacity: float) -> tuple[Bar, ...]:
    """What the heaviest device holds at moments; the fullest, or the capacity, is the length."""
    names = ("weights", "gradients", "optimizer", "activations", "buffers")
    longest = max(capacity, *(each.total for each in moments))
    held = [
        [
            Piece(name=name, amount=getattr(each, name), share=getattr(each, name) / longest)
            for name in names
            if getattr(each, name)
        ]
        for each in moments
    ]
    return tuple(
        _bar(each.when, pieces, BYTES, longest=longest)
        for each, pieces in zip(moments, held, strict=True)
    )


def longest_memory(study: Study, best: Ranked) -> float:
    """Bytes that the whole length of the memory bars stands for."""
    return max(best.estimate.memory.heaviest.total, study.cluster.device.memory)


def explained(
    pieces: Sequence[Piece], bars: Sequence[Bar], names: Iterable[str]
) -> tuple[Piece, ...]:
    """Pieces for a table under bars: what other bars have besides is there too, as nothing.

    Args:
        pieces: of the bar that the table is about.
        bars: all of them.
        names: every part that there may be, in order.
    """
    own = {piece.name: piece for piece in pieces}
    drawn = {piece.name for bar in bars for piece in bar.pieces} | own.keys()
    return tuple(
        own.get(name, Piece(name=name, amount=0.0, share=0.0)) for name in names if name in drawn
    )


def fates(result: SearchResult) -> tuple[Fate, ...]:
    """What became of every plan: priced, excluded, refused for each reason, or nothing yet."""
    refused = sorted(result.rejected.items(), key=lambda item: (-item[1], item[0]))
    reasons = [
        (f"refused-{place % REASONS}", plans, f"refused: {reason}")
        for place, (reason, plans) in enumerate(refused)
    ]
    told = (
        ("priced", result.priced, "priced: their time was computed"),
        ("excluded", result.excluded_by_bound, "excluded: a bound proves them worse"),
        *reasons,
        ("unseen", result.unseen, "not looked at: the search was cut short"),
    )
    return tuple(
        Fate(name=name, plans=plans, share=plans / result.space, words=words)
        for name, plans, words in told
        if plans
    )


def space_bar(result: SearchResult) -> Bar:
    """The whole space as one bar."""
    parts = fates(result)
    return Bar(
        label="all plans",
        total=f"{result.space:,}",
        pieces=tuple(Piece(name=part.name, amount=part.plans, share=part.share) for part in parts),
        texts=tuple(
            f"{count(part.plans, 'plan')}, {percent(part.share)}, {part.words}" for part in parts
        ),
    )


def _bar(label: str, pieces: Sequence[Piece], quantity: Quantity, *, longest: float) -> Bar:
    total = sum(piece.amount for piece in pieces)
    amounts = in_one_unit([written(quantity, piece.amount) for piece in pieces], like=max)
    texts = tuple(
        f"{piece.name}: {amount}, {percent(piece.amount / total)}"
        for piece, amount in zip(pieces, amounts, strict=True)
    )
    stretched = tuple(
        Piece(name=piece.name, amount=piece.amount, share=piece.amount / longest)
        for piece in pieces
    )
    return Bar(label=label, total=written(quantity, total), pieces=stretched, texts=texts)
