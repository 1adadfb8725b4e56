"""How the members of an ensemble are fed: on each number of devices, and why in that way."""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.ensemble.result import InputWay, SharedInput
from foretrain.jobs.result import CurvePoint, ModelCurve
from foretrain.show.lines import Lines, scaling
from foretrain.show.table import Column, Table
from foretrain.show.words import count, per_second, percent, written
from foretrain.units import SECONDS

CHOSEN = "chosen"

ASSUMED = (
    "Nothing of this is measured: of a node's cores each device keeps one busy, one thread of each"
    " node exchanges samples through one adapter, and a core copies 42 Gb/s."
)


def input_table(curve: ModelCurve) -> Table:
    """The best way of feeding members on each number of devices."""
    columns = (
        Column(name="devices", number=True),
        Column(name="input"),
        Column(name="samples/s", meaning="of a member", number=True),
        Column(name="of plan", meaning="rate over that with its samples at hand", number=True),
        Column(name="private", meaning="samples/s with a loader for each member", number=True),
        Column(
            name="cores", meaning="of a node, at work on input on average", number=True, spare=1
        ),
        Column(name="CPU saved", meaning="per sample", number=True),
    )
    rows = [_row(point, point.input) for point in curve.points if point.input]
    return Table(columns=columns, rows=tuple(rows))


def ways_table(fed: SharedInput) -> Table:
    """Every way of feeding members that was looked at, the chosen one first."""
    columns = (
        Column(name="input"),
        Column(name="samples/s", meaning="of a member", number=True),
        Column(
            name="cores", meaning="of a node, at work on input on average", number=True, spare=1
        ),
        Column(name="CPU time", meaning="per sample, all members", number=True),
        Column(name="why not"),
    )
    rows = [_way(way) for way in (fed.best, *fed.others)]
    return Table(columns=columns, rows=tuple(rows))


def fed_words(curve: ModelCurve) -> str:
    """In words, how members are fed on the devices that a job asks for."""
    fed = curve.asked.input
    assert fed
    where = f"This is on {count(curve.asks, 'device')}, with {_places(fed)}."
    return f"{fed.verdict} {where} {ASSUMED}"


def input_plot(curve: ModelCurve) -> Lines | None:
    """What members train: by their plans alone, fed as chosen, fed each by its own loader.

    Returns:
        None where there is nothing to draw a line through.
    """
    found = [(point.devices, point.input) for point in curve.points if point.input]
    if len(found) < 2:
        return None
    devices = [each for each, _ in found]

    def run(name: str, rates: Sequence[float]) -> tuple[str, Sequence[int], Sequence[float]]:
        return name, devices, rates

    return scaling(
        [
            run("samples at hand", [fed.demand for _, fed in found]),
            run("chosen input", [fed.best.rate for _, fed in found]),
            run("private loaders", [fed.private.rate for _, fed in found]),
        ]
    )


def _places(fed: SharedInput) -> str:
    """Where members lie."""
    if fed.nodes == 1:
        return f"all {fed.members} members on one node"
    if fed.beside > 1:
        return f"{fed.beside} members on each of {fed.nodes} nodes"
    if fed.parts > 1:
        return f"{fed.members} members that are fed through {fed.parts} nodes each"
    return f"{fed.members} members on nodes of their own"


def _row(point: CurvePoint, fed: SharedInput) -> tuple[str, ...]:
    return (
        f"{point.devices:,}",
        fed.best.name,
        per_second(point.rate),
        percent(min(1.0, point.rate / fed.demand)),
        per_second(fed.private.rate),
        f"{fed.best.cores:,.0f} of {fed.cores:,}",
        percent(fed.saved) if fed.pays else "",
    )


def _way(way: InputWay) -> tuple[str, ...]:
    return (
        way.name,
        per_second(way.rate),
        f"{way.cores:,.0f}",
        written(SECONDS, way.cpu),
        way.why or CHOSEN,
    )
