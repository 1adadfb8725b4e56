"""FLEET's rules and ours beside the shortest course of tiny ensembles, and beside FLEET's own run.

python -m validation.fleet            # fails if a figure is worse than recorded
python -m validation.fleet --record   # writes recorded_fleet.toml and the docs' table
python -m validation.fleet --points   # FLEET's run on SummitDev as well, under all assumptions
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, quantiles

from validation.parts.claims import Claim
from validation.parts.record import README, Recorded, told
from validation.parts.summitdev import DEVICES, DRAWS, FALLS, RULES, published, speed_ups, terms
from validation.parts.tiny_ensembles import drawn, limited, shortest

from foretrain.ensemble.costs import FleetTerms
from foretrain.ensemble.course import Course
from foretrain.ensemble.fleet import FleetCourses, fleet

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_fleet.toml",
    command="validation.fleet",
    mark="fleet",
    page=README.parent / "docs" / "background" / "fleet.md",
)
CASES = range(7000, 7200)
"""Seeds of the tiny ensembles; no other seed is looked at anywhere else for a figure."""

ROUNDING = 1e-9


def claims() -> Iterator[Claim]:
    """Every figure: of ensembles whose input nothing limits, then of those whose hosts do."""
    yield from _of("", [drawn(seed) for seed in CASES])
    yield from _of(", hosts limit", [limited(seed) for seed in CASES])


def _of(where: str, cases: Sequence[FleetTerms]) -> Iterator[Claim]:
    found = [(fleet(case), shortest(case)) for case in cases]
    for way, name in NAMES.items():
        gaps = [_gap(getattr(each, way).seconds, each, least) for each, least in found]
        yield from _gaps(name + where, gaps, 0.05 if way == "best" else None)
    shared = [each.improved.seconds / least - 1 for each, least in found]
    yield from _gaps(f"after one pass, to the shortest that shares{where}", shared, 0.05)
    for way, name in list(NAMES.items())[:-1]:
        worse = fmean(_longer(getattr(each, way), each.duplicate) for each, _ in found)
        most = 0.0 if way == "best" else None
        yield Claim(name=f"{name} is longer than one device each{where}", figure=worse, most=most)


NAMES = {
    "best": "what is chosen",
    "improved": "after one pass",
    "fleet_g": "FLEET-G",
    "fleet_l": "FLEET-L",
    "duplicate": "one device each",
}


def _longer(one: Course, other: Course) -> bool:
    return one.seconds > other.seconds * (1 + ROUNDING)


def _gap(seconds: float, found: FleetCourses, shared: float) -> float:
    """How much longer than the shortest of all: sharing one stream, or on one device each."""
    return seconds / min(shared, found.duplicate.seconds) - 1


def _gaps(name: str, gaps: Sequence[float], most: float | None = None) -> Iterator[Claim]:
    yield Claim(name=f"{name}: mean gap", figure=fmean(gaps), most=most)
    yield Claim(name=f"{name}: gap of nine in ten", figure=quantiles(gaps, n=10)[-1])
    yield Claim(name=f"{name}: largest gap", figure=max(gaps))


def points() -> Iterator[str]:
    """Speed-ups over one device each by devices: the paper's, and ours under every assumption."""
    yield f"{'devices':24}" + "".join(f"{devices:6}" for devices in DEVICES)
    for rule, paper in published().items():
        yield _line(f"paper, {rule}", paper)
    for draw in DRAWS:
        for fall in FALLS:
            yield f"{draw}, each further device {fall:g} times as quick"
            for rule in RULES:
                yield _line(rule, speed_ups(draw, fall, rule=rule))
    yield "what is chosen: normal run lengths, the first draw alone"
    for fall in FALLS:
        yield _line(f"{fall:g}", [_chosen(fall, devices) for devices in DEVICES])


def _chosen(fall: float, devices: int) -> float:
    found = fleet(terms("normal run lengths", fall, devices=devices, seed=0))
    return found.duplicate.seconds / found.best.seconds


def _line(name: str, values: Sequence[float]) -> str:
    return f"  {name:22}" + "".join(f"{value:6.2f}" for value in values)


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if a figure has dropped."""
    if "--points" in arguments:
        print("\n".join(points()))
    return told(list(claims()), RECORDED, record="--record" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
