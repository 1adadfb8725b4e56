"""The model of input pipelines beside the curves of the paper that proposed them.

    python -m validation.ensemble            # fails if a figure is worse than recorded
    python -m validation.ensemble --record   # writes recorded_ensemble.toml and the docs' table

Two constants are fitted per network; `validation.parts.titan` tells what is given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from validation.ensembles.selector import select_pipeline
from validation.parts.claims import Claim
from validation.parts.played_pipelines import behind, drawn_setting
from validation.parts.record import Recorded, told
from validation.parts.titan import (
    FIRST,
    NETWORKS,
    PIPELINES,
    Curve,
    Fitted,
    curves,
    fitted,
    measured,
    power,
    watts_of,
)

from foretrain.ensemble.across_nodes import ALL_SHARED, DUPLICATE

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_ensemble.toml",
    command="validation.ensemble",
    mark="ensemble",
    page=Path(__file__).parents[1] / "docs" / "background" / "ensemble-pipelines.md",
)

MOST = {"peak": 0.15, "CPU reduction": 0.10, "core limit": 0.10, "power above idle": 0.10}
"""Mean error that a kind of curve may have."""

WHAT = {
    "peak": "rate that can be delivered",
    "CPU reduction": "CPU time, duplicate over all-shared",
    "core limit": "rate with few cores, all-shared over duplicate",
    "power above idle": "watts above idle",
}

DRAWN = 200
"""Random settings on which the pick is held against all pipelines, played."""


def claims() -> Iterator[Claim]:
    """Mean error of every kind of curve and of every curve; what is picked; what is not scored."""
    networks = [fitted(name) for name in NETWORKS]
    for kind, of_kind in _by_kind(networks).items():
        yield _claim(kind, "all", [error for curve in of_kind for error in curve.errors])
        yield from (_claim(kind, curve.name, curve.errors) for curve in of_kind)
    yield from map(_saved, networks)
    yield _picked(networks)
    yield _played()
    yield from _not_scored(networks)
    yield from _unseen()
    yield from _constants(networks)


def _by_kind(networks: Sequence[Fitted]) -> dict[str, list[Curve]]:
    """All scored curves."""
    every = [curve for each in networks for curve in curves(each)]
    every += [power(each) for each in networks]
    return {kind: [curve for curve in every if curve.kind == kind] for kind in MOST}


def _claim(kind: str, name: str, errors: Sequence[float]) -> Claim:
    return Claim(name=f"{WHAT[kind]}: {name}", figure=_mean(errors), most=MOST[kind])


def _saved(of: Fitted) -> Claim:
    """How far the share of power that sharing saves is off."""
    watts = power(of)
    ours, paper = (1.0 - shared / alone for alone, shared in (watts.ours, watts.paper))
    return Claim(
        name=f"power above idle saved: {of.network}",
        figure=abs(ours / paper - 1.0),
        most=MOST["power above idle"],
    )


def _mean(errors: Sequence[float]) -> float:
    """Mean of the absolute errors."""
    return fmean(abs(each) for each in errors)


def _picked(networks: Sequence[Fitted]) -> Claim:
    """On the paper's nodes and preparers, of the paper's pipelines."""
    choices = (DUPLICATE, *PIPELINES.values())
    picked = [
        select_pipeline(each.setting(nodes), preparers=(5, 20), pipelines=choices).best.pipeline
        for each in networks
        for nodes in (10, 50, 100)
    ]
    share = picked.count(ALL_SHARED) / len(picked)
    return Claim(name="picked on 10, 50, 100 nodes: all-shared", figure=share, least=1.0)


def _played() -> Claim:
    """How far the pick is behind the best pipeline when all are played, at worst."""
    random = np.random.default_rng(0)
    worst = max(behind(drawn_setting(random)) for _ in range(DRAWN))
    return Claim(
        name=f"picked in {DRAWN} random settings: slower than the best, at worst",
        figure=worst,
        most=0.05,
    )


def _not_scored(networks: Sequence[Fitted]) -> Iterator[Claim]:
    """Curves without a bar: CPU time of broadcasts, one core, power by the other networks."""
    row, alexnet = measured()["cpu_over_all_shared"], networks[0]
    for name in ("multi-broadcast", "single-broadcast"):
        paper = row[name.replace("-", "_")]
        ours = [_over_all_shared(alexnet, name, nodes) for nodes in row["nodes"]]
        errors = [mine / theirs - 1.0 for mine, theirs in zip(ours, paper, strict=True)]
        yield Claim(name=f"not scored: CPU time, {name} over all-shared", figure=_mean(errors))
    for each in networks:
        yield _one_core(each)


def _unseen() -> Iterator[Claim]:
    """AlexNet fitted to 16 cores only: curves with fewer cores are predicted, not fitted."""
    few = {curve.name for curve in curves(fitted(FIRST)) if curve.name.endswith(" 4 cores")}
    blind = fitted(FIRST, without=frozenset({*few, "core limit"}))
    for what, unseen in (
        ("rates with 4 cores", [each for each in curves(blind) if each.name in few]),
        ("rate with few cores", [each for each in curves(blind) if each.kind == "core limit"]),
    ):
        yield Claim(
            name=f"not scored: {what}, fitted to 16 cores only",
            figure=_mean([error for curve in unseen for error in curve.errors]),
        )


def _over_all_shared(of: Fitted, name: str, nodes: int) -> float:
    """CPU time of a pipeline over that of all-shared."""
    cpu = of.estimate(PIPELINES[name], nodes, preparers=5).cpu
    return cpu / of.estimate(ALL_SHARED, nodes).cpu


def _one_core(of: Fitted) -> Claim:
    """How many times slower all-shared is with one core, beside the paper's figure."""
    nodes = measured()["core_limit"]["nodes"]
    many, one = (of.estimate(ALL_SHARED, nodes, cores=cores).rate for cores in (16, 1))
    paper = measured()["one_core"]["all_shared"][of.network]
    return Claim(
        name=f"not scored: times slower with one core, {of.network} (paper {paper})",
        figure=many / one,
        write="{:.2f}".format,
    )


def _constants(networks: Sequence[Fitted]) -> Iterator[Claim]:
    """What was fitted, and the watts that the readings of the other networks give."""
    for each in networks:
        yield Claim(name=f"fitted: k of {each.network}", figure=each.k, write="{:.1f}".format)
        yield Claim(
            name=f"fitted: milliseconds to pass on a sample, {each.network}",
            figure=1e3 * each.passing,
            write="{:.2f}".format,
        )
    for each in networks:
        watts = watts_of([other for other in networks if other is not each])
        what = f"for {each.network}, by the others"
        yield Claim(name=f"watts of a busy core {what}", figure=watts.core, write="{:.2f}".format)
        yield Claim(
            name=f"watts of a node at work {what}", figure=watts.running, write="{:.0f}".format
        )


def points(curve: Curve) -> Iterator[str]:
    """Every point of a curve: nodes or cores, the paper's figure, ours, the error."""
    yield f"{WHAT[curve.kind]}: {curve.name}"
    rows = zip(curve.places, curve.paper, curve.ours, curve.errors, strict=True)
    for place, paper, ours, error in rows:
        yield f"{place:6}  {paper:8.4g}  {ours:8.4g}  {error:+7.1%}"


def main(arguments: Sequence[str]) -> int:
    """Print every point and the table; 1 if a figure has dropped."""
    for of in map(fitted, NETWORKS):
        for curve in (*curves(of), power(of)):
            print("\n".join(points(curve)))
    return told(list(claims()), RECORDED, record="--record" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
