"""Which pipeline to choose across nodes, why the others lose, and whether sharing pays at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from foretrain.ensemble.across_nodes import (
    DUPLICATE,
    PIPELINES,
    AcrossNodes,
    EnsemblePipeline,
    PipelineEstimate,
    estimate_pipeline,
)
from foretrain.ensemble.plan import CLOSE, WORTH, as_fast, preferred, worth_sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The pipeline to choose.

    Attributes:
        best: what to choose.
        duplicate: what is had without sharing.
        estimates: of all that were looked at, the fastest first.
        losses: why each of the others loses, by its name.
        pays: whether sharing is worth while.
        verdict: that in a sentence.
    """

    best: PipelineEstimate
    duplicate: PipelineEstimate
    estimates: tuple[PipelineEstimate, ...]
    losses: Mapping[str, str]
    pays: bool
    verdict: str


def select_pipeline(
    setting: AcrossNodes,
    *,
    preparers: Iterable[int] | None = None,
    pipelines: Iterable[EnsemblePipeline] = tuple(PIPELINES.values()),
) -> Selection:
    """The fastest pipeline; of those as fast, the one that needs least CPU time; then the simplest.

    Where sharing is not worth it, every node is told to prepare for itself.

    Args:
        setting: nodes, members and what was measured.
        preparers: how many nodes may prepare where a pipeline leaves it open; 1, 2, 4, ... up to
            all nodes if not said.
        pipelines: that may be chosen, earlier ones first where they are equal.

    Source: pittman2018, the choice by r_c, r_p and peak(n).
    """
    counts = tuple(preparers) if preparers is not None else _doublings(setting.nodes)
    found = [each for kind in pipelines for each in _variants(kind, setting, counts)]
    duplicate = estimate_pipeline(DUPLICATE, setting)
    leader = preferred(found)
    best = leader if worth_sharing(leader, duplicate) else duplicate
    rest = (each for each in found if each.name != best.name)
    return Selection(
        best=best,
        duplicate=duplicate,
        estimates=tuple(sorted(found, key=lambda each: -each.rate)),
        losses={each.name: _loss(each, best) for each in rest},
        pays=best.pipeline.exchanges,
        verdict=_verdict(best, duplicate),
    )


def _doublings(nodes: int) -> tuple[int, ...]:
    """1, 2, 4, ... and all nodes."""
    return (*(1 << power for power in range((nodes - 1).bit_length())), nodes)


def _variants(
    pipeline: EnsemblePipeline, setting: AcrossNodes, counts: tuple[int, ...]
) -> list[PipelineEstimate]:
    """A pipeline once, or once per number of preparers where that is open."""
    chosen = dict.fromkeys(pipeline.preparers(setting.nodes, count) for count in counts)
    return [estimate_pipeline(pipeline, setting, preparers=count) for count in chosen]


def _loss(each: PipelineEstimate, best: PipelineEstimate) -> str:
    """Why a pipeline was not chosen."""
    if not as_fast(each, best):
        behind = 1.0 - each.rate / best.rate
        return f"{behind:.0%} slower: {each.limit} limits it to {each.rate:.4g} samples/s"
    if each.cpu > (1.0 + CLOSE) * best.cpu:
        return f"as fast, but takes {each.cpu / best.cpu:.3g} times the CPU time"
    if not best.pipeline.exchanges:
        return "saves too little CPU time to be worth an exchange"
    if each.preparers < best.preparers:
        return f"as good on average, but {each.preparers} nodes carry all the preparing"
    return "as good, but not simpler"


def _verdict(best: PipelineEstimate, duplicate: PipelineEstimate) -> str:
    """Whether sharing pays, in a sentence."""
    if not best.pipeline.exchanges:
        return (
            "Sharing does not pay: every node prepares for itself at "
            f"{duplicate.rate:.4g} samples/s, and no exchange is faster or spares {WORTH:.0%} "
            "of the CPU time."
        )
    return (
        f"Sharing pays: {best.name} trains {best.rate / duplicate.rate:.3g} times as fast as "
        f"preparing on every node, for {best.cpu / duplicate.cpu:.0%} of its CPU time per sample."
    )
