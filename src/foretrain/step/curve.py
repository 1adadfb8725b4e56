"""What `estimate` answers about one collective: time and bandwidths against bytes.

Bandwidths are those of `nccl-tests`: bytes over seconds (algorithm bandwidth), and what a link
carries then (bus bandwidth), which does not depend on the number of devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.study import CollectiveKind, CollectiveStudy
from foretrain.show.charts import between
from foretrain.show.report import AnswerReport, Block, Drawing, Note, Paper, ReportSection
from foretrain.show.table import label, labelled, table
from foretrain.show.words import count, written
from foretrain.step.collective import transfers
from foretrain.step.collectives.line import WHOLE
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.coefficients import DEFAULT
from foretrain.units import BYTES, BYTES_PER_SECOND, SECONDS

PATTERNS: Mapping[CollectiveKind, Pattern | None] = MappingProxyType(
    {
        CollectiveKind.ALL_REDUCE: Pattern.ALL_REDUCE,
        CollectiveKind.ALL_GATHER: Pattern.ALL_GATHER,
        CollectiveKind.REDUCE_SCATTER: Pattern.ALL_GATHER,
        CollectiveKind.ALL_TO_ALL: Pattern.ALL_TO_ALL,
        CollectiveKind.BROADCAST: Pattern.BROADCAST,
        CollectiveKind.SEND_RECEIVE: None,
    }
)
"""What a kind is priced as; None is a message of each device to the next."""

RATES = "rates"
"""The group of columns that have one unit."""


def carried(kind: CollectiveKind, devices: int) -> float:
    """Bytes that a link carries over those of the message.

    Source: nccl-tests, doc/PERFORMANCE.md, bus bandwidth.
    """
    share = (devices - 1) / devices
    if kind is CollectiveKind.ALL_REDUCE:
        return 2.0 * share
    if kind in (CollectiveKind.BROADCAST, CollectiveKind.SEND_RECEIVE):
        return 1.0
    return share


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivePoint:
    """A collective with messages of one size.

    Attributes:
        bytes: of the message.
        seconds: from a call to the next.
        low: that nine machines of ten exceed.
        high: that nine of ten stay below.
        algorithm_bandwidth: bytes over seconds.
        bus_bandwidth: what a link carries then.
        bus_low: the same if it takes as long as may be.
        bus_high: the same if it takes as little as may be.
        algorithm: that the library chooses.
        protocol: with which.
    """

    bytes: float = field(metadata=label("bytes", BYTES.write))
    seconds: float = field(metadata=label("time", SECONDS.write))
    low: float
    high: float
    algorithm_bandwidth: float = field(
        metadata=label("algbw", BYTES_PER_SECOND, meaning="bytes over time", group=RATES)
    )
    bus_bandwidth: float = field(
        metadata=label("busbw", BYTES_PER_SECOND, meaning="what a link carries", group=RATES)
    )
    bus_low: float
    bus_high: float
    algorithm: str = field(metadata=label("algorithm"))
    protocol: str = field(metadata=label("protocol"))

    @property
    @labelled("interval", number=True, spare=1, meaning="of the time, holds 80 %")
    def interval(self) -> str:
        """Where the time lies."""
        unit = SECONDS.unit_of(self.seconds)
        low = SECONDS.write(self.low, unit).removesuffix(f" {unit}")
        return f"{low} to {SECONDS.write(self.high, unit)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCurve:
    """What a collective takes.

    Attributes:
        kind: what the devices do.
        devices: how many.
        nodes: over which they are spread.
        points: a size each, the smallest first.
        best: largest bus bandwidth of them.
        half: bytes of the first size that reaches half of that.
        assumed: what was assumed.
    """

    kind: CollectiveKind
    devices: int
    nodes: int
    points: tuple[CollectivePoint, ...]
    best: float
    half: float
    assumed: tuple[str, ...]


def collective(study: CollectiveStudy, *, coefficients: Coefficients = DEFAULT) -> CollectiveCurve:
    """Predict time and bandwidths of one collective, by size.

    Args:
        study: what is asked.
        coefficients: how well hardware and library do.
    """
    found = transfers(
        study.cluster,
        coefficients,
        PATTERNS[study.kind],
        sizes=study.sizes,
        devices=study.devices,
        together=study.together,
    )
    wide, per_link = found.spread(coefficients.transfer_errors), carried(study.kind, study.devices)
    points = tuple(
        _point(size, float(seconds), float(factor), per_link=per_link, name=name)
        for size, seconds, factor, name in zip(
            study.sizes, found.seconds, wide, found.names, strict=True
        )
    )
    best = max(each.bus_bandwidth for each in points)
    return CollectiveCurve(
        kind=study.kind,
        devices=study.devices,
        nodes=study.nodes,
        points=points,
        best=best,
        half=next(each.bytes for each in points if each.bus_bandwidth >= best / 2),
        assumed=study.assumed,
    )


def _point(
    size: float, seconds: float, factor: float, *, per_link: float, name: str
) -> CollectivePoint:
    algorithm, _, protocol = name.partition(" ")
    return CollectivePoint(
        bytes=size,
        seconds=seconds,
        low=seconds / factor,
        high=seconds * factor,
        algorithm_bandwidth=size / seconds,
        bus_bandwidth=per_link * size / seconds,
        bus_low=per_link * size / (seconds * factor),
        bus_high=per_link * size / (seconds / factor),
        algorithm=algorithm.removesuffix(WHOLE),
        protocol=protocol or "Simple",
    )


def collective_report(study: CollectiveStudy, answer: CollectiveCurve) -> AnswerReport:
    """What is said of a collective.

    Args:
        study: the question.
        answer: the answer.
    """
    where = f"{answer.devices:,} {study.cluster.device.name} on {count(answer.nodes, 'node')}"
    notes = tuple(Note(f"{text[0].upper()}{text[1:]}.") for text in answer.assumed)
    points = table(
        answer.points,
        *("bytes", "seconds", "interval", "algorithm_bandwidth", "bus_bandwidth"),
        *("algorithm", "protocol"),
        legend=True,
    )
    drawn = (Paper(_rates(answer)), Paper(_times(answer))) if len(answer.points) > 1 else ()
    body: tuple[Block, ...] = (_sentence(answer), *drawn, points, *notes)
    return AnswerReport(
        kind="Collective",
        title=f"{answer.kind} of {where}",
        subtitle=study.cluster.name,
        sections=(ReportSection(name="points", title="", body=body),),
        coefficients=True,
    )


def _sentence(answer: CollectiveCurve) -> str:
    """What the curve comes to."""
    first, last = answer.points[0], answer.points[-1]
    article = "An" if answer.kind.startswith("a") else "A"
    size, seconds = written(BYTES, first.bytes), written(SECONDS, first.seconds)
    one = f"{article} {answer.kind} of {size} takes {seconds}"
    if first is last:
        return f"{one}; a link carries {written(BYTES_PER_SECOND, first.bus_bandwidth)} then."
    return (
        f"{one}, one of {written(BYTES, last.bytes)} {written(SECONDS, last.seconds)}."
        f" Bus bandwidth reaches {written(BYTES_PER_SECOND, answer.best)}, half of it from"
        f" {written(BYTES, answer.half)} on."
    )


def _rates(answer: CollectiveCurve) -> Drawing:
    """Bandwidths against bytes."""
    sizes = [each.bytes for each in answer.points]
    runs = [
        ("bus bandwidth", sizes, [each.bus_bandwidth for each in answer.points]),
        ("its low end", sizes, [each.bus_low for each in answer.points]),
        ("its high end", sizes, [each.bus_high for each in answer.points]),
    ]
    if answer.kind is not CollectiveKind.SEND_RECEIVE:
        rates = [each.algorithm_bandwidth for each in answer.points]
        runs.append(("algorithm bandwidth", sizes, rates))
    return _drawing(between(runs, BYTES, BYTES_PER_SECOND), "bandwidth")


def _times(answer: CollectiveCurve) -> Drawing:
    """Time against bytes."""
    sizes = [each.bytes for each in answer.points]
    runs = [
        ("time", sizes, [each.seconds for each in answer.points]),
        ("its low end", sizes, [each.low for each in answer.points]),
        ("its high end", sizes, [each.high for each in answer.points]),
    ]
    return _drawing(between(runs, BYTES, SECONDS), "time")


def _drawing(plot: object, upwards: str) -> Drawing:
    content = {"plot": plot, "words": "", "upwards": upwards, "across": "bytes of the message"}
    return Drawing(template="lines", content=content)
