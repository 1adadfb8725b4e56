"""How the members of an ensemble are fed: on each number of devices, and why in that way."""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.ensemble.result import SharedInput
from foretrain.jobs.result import ModelCurve
from foretrain.show.charts import Lines, scaling
from foretrain.show.table import Column, Table, table
from foretrain.show.words import count, per_second, percent

ASSUMED = (
    "Nothing of this is measured: of a node's cores each device keeps one busy, one thread of each"
    " node exchanges samples through one adapter, and a core copies 42 Gb/s."
)


def input_table(curve: ModelCurve) -> Table:
    """The best way of feeding members on each number of devices."""
    rate = Column(name="samples/s", meaning="of a member", number=True, unit=per_second)
    private = "samples/s with a loader for each member"
    return table(
        [point for point in curve.points if point.input],
        "devices",
        "input.best.name",
        (rate, lambda point: point.rate),
        (
            Column(
                name="of plan",
                meaning="rate over that with its samples at hand",
                number=True,
                unit=percent,
            ),
            lambda point: min(1.0, point.rate / point.input.demand),
        ),
        (
            Column(name="private", meaning=private, number=True, unit=per_second),
            lambda point: point.input.private.rate,
        ),
        (
            Column(
                name="cores", meaning="of a node, at work on input on average", number=True, spare=1
            ),
            lambda point: f"{point.input.best.cores:,.0f} of {point.input.cores:,}",
        ),
        (
            Column(name="CPU saved", meaning="per sample", number=True, unit=percent),
            lambda point: point.input.saved if point.input.pays else None,
        ),
        legend=True,
    )


def ways_table(fed: SharedInput) -> Table:
    """Every way of feeding members that was looked at, the chosen one first."""
    return table((fed.best, *fed.others), "name", "rate", "cores", "cpu", "fate", legend=True)


def fed_words(curve: ModelCurve) -> str:
    """In words, how members are fed on the devices that a job asks for."""
    fed = curve.asked.input
    assert fed
    if fed.nodes == 1:
        places = f"all {fed.members} members on one node"
    elif fed.beside > 1:
        places = f"{fed.beside} members on each of {fed.nodes} nodes"
    elif fed.parts > 1:
        places = f"{fed.members} members that are fed through {fed.parts} nodes each"
    else:
        places = f"{fed.members} members on nodes of their own"
    where = f"This is on {count(curve.asks, 'device')}, with {places}."
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
