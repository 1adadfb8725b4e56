"""The headline of ensembles: what papers say, what we measured, what we predict.

    python -m validation.ensemble_headline            # the table
    python -m validation.ensemble_headline --record   # writes it into the docs

Figures of one machine come from `benchmarks/recorded/ensemble.toml`, those across emulated nodes
from `validation.nodes`. The model of one machine is given what cells of one and two members with
loaders of their own took, and what handing over a sample of that size takes where no study says it
(`usual_handing`); ensembles that share are predicted.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from validation.parts.pages import put_between
from validation.parts.titan import NETWORKS, curves, fitted, measured, power

from foretrain.ensemble.costs import Cores, MeasuredCosts
from foretrain.ensemble.one_node import (
    LoadingEstimate,
    MeasuredLoaders,
    OnOneNode,
    private_loaders,
    shared_stream,
)
from foretrain.measured.ensemble_study import HandingCosts, usual_handing
from validation import nodes

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benchmarks" / "recorded" / "ensemble.toml"
PAGE = ROOT / "docs" / "background" / "ensembles.md"
MARKS = (
    "<!-- headline: python -m validation.ensemble_headline --record -->",
    "<!-- end of headline -->",
)
NAMES = {"alexnet": "AlexNet", "inception": "Inception V1", "vgg": "VGG-A"}
SHAPE, SAMPLE_BYTES, BATCH = (3, 224, 224), 602_112, 25
"""Of the benchmark's pictures, in float32, and its batches."""
LENT = 8.9e-6
"""Core-seconds in which a reader is given a picture in the stream's memory, as in the benchmark.

Source: `python -m validation.ensemble_predictions --handing`."""
LIGHT = ", every 6th pixel"
"""What a cell of one core says of its network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row.

    Attributes:
        what: is compared.
        predicted: by us.
        paper: what a paper measured; None where it did not.
        here: what we measured; None where we could not.
        write: a figure in words.
    """

    what: str
    predicted: float
    paper: float | None = None
    here: float | None = None
    write: str = "{:.2f}x"

    @property
    def difference(self) -> float:
        """Predicted over measured, less 1: by us where we could, else by the paper."""
        found = self.paper if self.here is None else self.here
        assert found is not None
        return self.predicted / found - 1.0

    def __str__(self) -> str:
        """As a row of a table."""
        paper, here = (
            "" if value is None else self.write.format(value) for value in (self.paper, self.here)
        )
        told = self.write.format(self.predicted)
        return f"| {self.what} | {paper} | {here} | {told} | {self.difference:+.0%} |"


def lines() -> Iterator[Line]:
    """All rows."""
    yield from _titan()
    handing = replace(usual_handing(SAMPLE_BYTES), deliver=LENT)
    yield from lines_of(Cells(tomllib.loads(RECORDED.read_text("utf-8")), handing))
    yield from _across_nodes()


def _titan() -> Iterator[Line]:
    """The paper's own figures, where it saves most."""
    for network in NETWORKS:
        yield _most(network, "CPU time saved, {} nodes", kind="CPU reduction")
    for network in NETWORKS:
        yield _most(network, "speed-up, cores per node: {}", kind="core limit")
    for network in NETWORKS:
        watts = power(fitted(network))
        ours, paper = (1.0 - shared / alone for alone, shared in (watts.ours, watts.paper))
        what = f"power above idle saved, {NAMES[network]}, Titan"
        yield Line(what=what, paper=paper, predicted=ours, write="{:.1%}")


def _most(network: str, what: str, *, kind: str) -> Line:
    """The point of a curve of this kind at which the paper saves most."""
    (curve,) = (each for each in curves(fitted(network)) if each.kind == kind)
    at = max(range(len(curve.paper)), key=curve.paper.__getitem__)
    said = what.format(curve.places[at])
    return Line(
        what=f"{said}, {NAMES[network]}, Titan", paper=curve.paper[at], predicted=curve.ours[at]
    )


class Cells:
    """What cells of the benchmark took, in the row that was repeated most.

    Attributes:
        handing: what the stream takes to store a sample, to deliver it, and so on.
        statistic: of a cell: 0 its median, 1 the least of its turns, 2 the most.
    """

    def __init__(
        self, rows: Mapping[str, Any], handing: HandingCosts, *, statistic: int = 0
    ) -> None:
        self.handing, self._statistic = handing, statistic
        ordered = sorted(rows.values(), key=lambda row: row["repetitions"])
        self._cells = {name: cell for row in ordered for name, cell in row["cells"].items()}

    def cpu(self, kind: str, members: int, *, cores: int = 2) -> float | None:
        """Core-seconds per sample, of all members together; None if it was not measured."""
        return self._took("cpu", kind, members=members, cores=cores)

    def wall(self, kind: str, members: int, *, cores: int = 2) -> float | None:
        """Seconds per sample; None if it was not measured."""
        return self._took("wall", kind, members=members, cores=cores)

    def _took(self, what: str, kind: str, *, members: int, cores: int) -> float | None:
        light = LIGHT if cores == 1 else ""
        cell = self._cells.get(f"{kind}, {members} members, {cores} cores{light}")
        return None if cell is None else cell[what][self._statistic]


def lines_of(cells: Cells) -> Iterator[Line]:
    """CPU time on two cores and wall time on one, for every number of members measured."""
    curve = measured()["cpu_reduction"]
    paper = dict(zip(curve["nodes"], curve["alexnet"], strict=True))
    for members in (4, 8, 12, 16, 20):
        yield from _saved(cells, members)
    for members in (2, 5, 8, 10, 20):
        yield from _sped_up(cells, members, paper.get(members))
    yield from _walls(cells)


def _saved(cells: Cells, members: int) -> Iterator[Line]:
    own = cells.cpu("workers 1w", members)
    for workers in (0, 1):
        alone = cells.cpu(f"private {workers}w", members)
        if own is None or alone is None:
            continue
        setting = setting_of(cells, members, cores=2)
        ours = private_loaders(setting, workers=workers).cpu / shared_stream(setting, workers=1).cpu
        yield Line(
            what=f"CPU time saved, {members} members, beside loaders of {workers} workers each",
            here=alone / own,
            predicted=ours,
        )


def _sped_up(cells: Cells, members: int, paper: float | None) -> Iterator[Line]:
    own, alone = (cells.wall(kind, members, cores=1) for kind in ("workers 1w", "private 0w"))
    if own is None or alone is None:
        return
    setting = setting_of(cells, members, cores=1)
    yield Line(
        what=f"speed-up, {members} members on one core (paper: CPU time of AlexNet)",
        paper=paper,
        here=alone / own,
        predicted=_faster(shared_stream(setting, workers=1), private_loaders(setting, workers=0)),
    )


def _faster(one: LoadingEstimate, other: LoadingEstimate) -> float:
    return one.rate / other.rate


def _walls(cells: Cells) -> Iterator[Line]:
    one, many = (cells.wall("workers 1w", members) for members in (1, 8))
    if one is not None and many is not None:
        alone, eight = (
            shared_stream(setting_of(cells, members, cores=2), workers=1).rate for members in (1, 8)
        )
        what = "wall time, 8 members over 1, two cores, one worker"
        yield Line(what=what, here=many / one, predicted=alone / eight)


def setting_of(cells: Cells, members: int, *, cores: int) -> OnOneNode:
    """So many members, by what one and two of them took with loaders of their own."""

    def cpu(kind: str, few: int, among: int = 2) -> float:
        found = cells.cpu(kind, few, cores=among)
        assert found is not None, f"{kind}, {few} members must be measured first"
        return found

    train = cpu("none 0w", 1, cores)
    prepare = cpu("private 0w", 1, cores) - train
    costs = MeasuredCosts(
        demand=1.0 / train, prepare=prepare, train=train, sample_bytes=SAMPLE_BYTES, batch=BATCH
    )
    handing = cells.handing
    loaders = MeasuredLoaders(
        hand=(cpu("private 1w", 2) - cpu("private 0w", 2)) / 2.0,
        store=prepare - handing.collate + handing.store,
        feed=handing.store,
        deliver=handing.deliver,
    )
    among = Cores(count=cores, contention=handing.contention, by_session=handing.by_session)
    return OnOneNode(members=members, costs=costs, loaders=loaders, cores=among)


def _across_nodes() -> Iterator[Line]:
    """Rates between four emulated nodes with queues between the stages."""
    for row in nodes.rows(json.loads(nodes.RECORD.read_text("utf-8"))):
        if row.name.startswith("4 nodes") and row.name.endswith("queues, 2 ms a sample"):
            yield Line(
                what=f"samples/s, {row.name}",
                here=row.measured,
                predicted=row.predicted.rate,
                write="{:.0f}",
            )


def table() -> list[str]:
    """The table as Markdown."""
    head = ["| what | paper | measured here | predicted | difference |", "|---|---|---|---|---|"]
    return [*head, *map(str, lines())]


def main(arguments: Sequence[str]) -> int:
    """Print the table, and write it into the docs where that is asked for."""
    text = "\n".join(table())
    print(text)
    if "--record" in arguments:
        PAGE.write_text(put_between(PAGE.read_text("utf-8"), MARKS, text), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
