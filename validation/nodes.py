"""Pipelines across emulated nodes: predicted rates beside measured ones.

    python -m validation.nodes            # the recorded runs; needs neither root nor torch
    python -m validation.nodes --measure  # runs them anew, with root, and records: 20 minutes

Predictions use operations and decoding that were measured alone, in the same session, and nothing
of the runs that they are held against. The exit status is 1 if a rate is off by more than must be.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from validation.ensembles.rounds import Measured, Operation, Round, Sharing, predicted_round
from validation.parts.pages import put_between

RECORD = Path(__file__).parent / "tables" / "ensemble_nodes" / "emulated.json"
PAGE = Path(__file__).parents[1] / "docs" / "background" / "ensemble-nodes.md"
MARKS = ("<!-- python -m validation.nodes --measure -->", "<!-- end of the table -->")
"""Around the table on the page."""
MUST = 0.10
"""Error of a rate that no case may exceed; half of it is the aim for the mean."""
CALM = 0.10
"""Spread of a case beyond which something else disturbed it: listed, not judged."""
NODES = (2, 3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case beside its prediction.

    Attributes:
        name: of the case.
        measured: samples per second that a node got, the median of the epochs.
        spread: largest less smallest epoch, over the median.
        predicted: the parts of its round.
    """

    name: str
    measured: float
    spread: float
    predicted: Round

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted.rate / self.measured - 1


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if a rate is off by more than must be."""
    if "--measure" in arguments:
        _measure()
    found = rows(json.loads(RECORD.read_text("utf-8")))
    print("\n".join(table(found)))
    if "--measure" in arguments:
        PAGE.write_text(shown_in(PAGE.read_text("utf-8"), found), "utf-8")
    return int(worst(found) > MUST)


def rows(record: Mapping[str, Any]) -> list[Row]:
    """All recorded cases."""
    return [row for lab in record["labs"] for row in _of_lab(lab, record["about"])]


def worst(found: Sequence[Row]) -> float:
    """The largest error of those that were not disturbed."""
    return max(abs(row.error) for row in found if row.spread <= CALM)


def table(found: Sequence[Row]) -> Iterator[str]:
    """The rows and what they come to, in words."""
    yield f"{'pipeline':62}{'measured':>10}{'+-':>7}{'predicted':>11}{'error':>8}"
    for row in found:
        yield (
            f"{row.name:62}{row.measured:8.1f}/s{row.spread:7.1%}"
            f"{row.predicted.rate:9.1f}/s{row.error:+8.1%}"
        )
    errors = [abs(row.error) for row in found]
    kept = sum(error <= MUST for error in errors)
    yield (
        f"{len(found)} cases: mean error {mean(errors):.1%}, median {median(errors):.1%}, worst "
        f"{max(errors):.1%}; within {MUST:.0%}: {kept}"
    )


def shown_in(page: str, found: Sequence[Row]) -> str:
    """The page with this table between its marks."""
    return put_between(page, MARKS, "\n".join(["```", *table(found), "```"]))


def _of_lab(lab: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Row]:
    alone = operations(lab["operations"], bandwidth=_bandwidth(lab["operations"]))
    for case in lab["cases"]:
        sharing = Sharing(
            mode=case["mode"],
            nodes=case["nodes"],
            preprocessors=case["preprocessors"],
            batch=about["batch"],
            block_bytes=about["batch"] * _sample_bytes(case["data"]),
            decode_rate=_decode_rate(lab["decoding"], case["data"], batch=about["batch"]),
            decode_cores=mean(each["cores"] for each in _decoding(lab["decoding"], case["data"])),
            cores=about["cores"] / lab["nodes"],
            queued=case["queue"] > 0,
        )
        rate = median(case["rates"])
        yield Row(
            name=_name(case),
            measured=rate,
            spread=(max(case["rates"]) - min(case["rates"])) / rate,
            predicted=predicted_round(sharing, alone),
        )


def operations(found: Sequence[Mapping[str, Any]], *, bandwidth: float) -> Measured:
    """Starts and factors of what was measured alone."""
    members = sorted({each["members"] for each in found})
    plain = _same(found, "broadcast", 2)[1]
    early = median(plain["seconds"]) - median(plain["root"])
    gather, broadcast = (
        {
            count: _operation(_same(found, kind, count), bandwidth=bandwidth, early=early)
            for count in members
        }
        for kind in ("gather", "broadcast")
    )
    return Measured(
        bandwidth=bandwidth, buffered=early * bandwidth, gather=gather, broadcast=broadcast
    )


def _same(found: Sequence[Mapping[str, Any]], kind: str, members: int) -> list[Mapping[str, Any]]:
    """A small operation, a large one, and many large ones in a row."""
    same = [each for each in found if (each["kind"], each["members"]) == (kind, members)]
    return sorted(same, key=lambda each: (each["size"], each["row"]))


def _operation(same: Sequence[Mapping[str, Any]], *, bandwidth: float, early: float) -> Operation:
    """Its start and factors.

    Args:
        same: as `_same` returns them.
        bandwidth: of a link.
        early: seconds by which a root may go on before its last bytes have left.
    """
    small, large, row = same
    block = large["size"] / bandwidth
    return Operation(
        start=median(small["seconds"]),
        alone=median(large["seconds"]) / block,
        root=(median(large["root"]) + early) / block,
        streamed=median(row["seconds"]) / block,
        cores=row["cores"],
    )


def _bandwidth(found: Sequence[Mapping[str, Any]]) -> float:
    """Of a link: a large broadcast to one other node is a plain send."""
    plain = _same(found, "broadcast", 2)[1]
    return float(plain["size"] / median(plain["seconds"]))


def _decode_rate(
    found: Sequence[Mapping[str, Any]], data: Mapping[str, Any], *, batch: int
) -> float:
    """Of the node that is slowest in each block: a round waits for it."""
    same = _decoding(found, data)
    return batch / mean(seconds for each in same for seconds in each["seconds"])


def _decoding(
    found: Sequence[Mapping[str, Any]], data: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """The two times at which such data was decoded alone."""
    return [each for each in found if {**each["data"], "samples": 0} == {**data, "samples": 0}]


def _sample_bytes(data: Mapping[str, Any]) -> int:
    return int(data["sample_bytes"] if data["kind"] == "paced" else 3 * data["crop"] ** 2)


def _name(case: Mapping[str, Any]) -> str:
    data = case["data"]
    decode = (
        "really decoded" if data["kind"] == "real" else f"{1e3 * data['seconds']:g} ms a sample"
    )
    deciding = f", {case['preprocessors']} decode" if "broadcast" in case["mode"] else ""
    queued = "queues" if case["queue"] else "in turn"
    return f"{case['nodes']} nodes, {case['mode']}{deciding}, {queued}, {decode}"


def _measure() -> None:
    """Run everything anew and write the record."""
    from validation.testbed.campaign import about, as_text, measured
    from validation.testbed.lab import missing

    if reason := missing():
        sys.exit(f"Nothing was measured: {reason}. The record stays as it was.")
    record = {"about": about(), "labs": [measured(nodes) for nodes in NODES]}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(as_text(record), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
