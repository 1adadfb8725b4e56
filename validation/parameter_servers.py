"""Published runs with parameter servers, predicted from one device's step of the same network.

    python -m validation.parameter_servers

The one-device row of each (device, host, network, batch, data) is the profile and never scored.
Four numbers are fitted to the other rows that a protocol allows, none for a network. The exit
status is 1 if a bar is missed. `docs/background/curves.md` says what came out.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from validation.parts.claims import Claim, table
from validation.parts.hosted import HostedRun, HostedSystem, fit_hosted

from foretrain.workload.library.entries import build

FILE = Path(__file__).parent / "tables" / "parameter_server.csv"
NETWORKS = {
    "AlexNet": ("alexnet", 224),
    "InceptionV3": ("inception-v3", 299),
    "ResNet-50": ("resnet-50", 224),
    "ResNet-152": ("resnet-152", 224),
    "VGG16": ("vgg-16", 224),
}
"""Names in the library, and pixels per side; the source does not state these, and no figure here
but a classifier's size depends on them."""

FP32 = 4.0
K80, P100 = "K80", "P100-SXM2-16GB"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured row beside its profile."""

    network: str
    device: str
    run: HostedRun
    rate: float

    @property
    def step(self) -> float:
        """Measured seconds of a step."""
        return self.run.hosts * self.run.devices * self.run.samples / self.rate


Predict = Callable[[HostedRun], float]
"""Samples per second of a run."""


@cache
def rows() -> tuple[Row, ...]:
    """Every row but the profiles."""
    with FILE.open(encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    alone = {
        _profile(row): float(row["batch_per_gpu"]) / float(row["images_per_s"])
        for row in cells
        if row["gpus_total"] == "1"
    }
    return tuple(_row(row, alone[_profile(row)]) for row in cells if row["gpus_total"] != "1")


def _profile(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(
        row[name] for name in ("worker_device", "source", "model", "batch_per_gpu", "data")
    )


def _row(cells: dict[str, str], alone: float) -> Row:
    run = HostedRun(
        alone=alone,
        samples=float(cells["batch_per_gpu"]),
        parameters=FP32 * parameters(cells["model"]),
        devices=int(cells["gpus_per_worker"]),
        hosts=int(cells["workers"]),
        servers=int(cells["ps_tasks"] or 1),
        reads=cells["data"] == "real",
    )
    return Row(
        network=cells["model"],
        device=cells["worker_device"],
        run=run,
        rate=float(cells["images_per_s"]),
    )


@cache
def parameters(network: str) -> float:
    """Of a network of the table, from the library."""
    name, image = NETWORKS[network]
    return build(name, image=image).parameters


def fitted(to: Sequence[Row]) -> HostedSystem:
    """The system that some rows show."""
    return fit_hosted([row.run for row in to], [row.step for row in to])


def off(row: Row, predict: Predict) -> float:
    """Relative error of a predicted throughput."""
    return abs(predict(row.run) / row.rate - 1.0)


def linear(run: HostedRun) -> float:
    """As many times the profile as there are devices."""
    return run.hosts * run.devices * run.samples / run.alone


def other_device(source: str, target: str, *, hosts: int | None = None) -> list[tuple[Row, float]]:
    """Errors on a device, fitted to all rows of another."""
    system = fitted([row for row in rows() if row.device == source])
    scored = [row for row in rows() if row.device == target and hosts in (None, row.run.hosts)]
    return [(row, off(row, system.rate)) for row in scored]


def other_networks(among: Sequence[Row]) -> list[tuple[Row, float]]:
    """Errors of some rows, each fitted to those of other networks."""
    errors = []
    for network in NETWORKS:
        mine = [row for row in among if row.network == network]
        if mine:
            system = fitted([row for row in among if row.network != network])
            errors += [(row, off(row, system.rate)) for row in mine]
    return errors


def claims() -> Iterator[Claim]:
    """Every figure beside its bar, and linear scaling of the same rows."""
    left_out = [
        each
        for device in (K80, P100)
        for each in other_networks([row for row in rows() if row.device == device])
    ]
    scored = {
        "fitted on K80, predicted for P100": (other_device(K80, P100), 0.07),
        "fitted on P100, predicted for K80 on one machine": (
            other_device(P100, K80, hosts=1),
            0.07,
        ),
        "one network left out": (left_out, 0.07),
        **{
            f"one network left out: {name}": ([e for e in left_out if e[0].network == name], 0.07)
            for name in NETWORKS
        },
        "one network left out: K80 on several machines": (
            [each for each in left_out if each[0].run.hosts > 1],
            0.12,
        ),
        "one network left out, both devices taken together": (other_networks(rows()), 0.07),
    }
    for name, (errors, most) in scored.items():
        yield Claim(
            name=f"{name} ({len(errors)} rows)", figure=fmean(e for _, e in errors), most=most
        )
        yield Claim(name="  linear scaling", figure=fmean(off(row, linear) for row, _ in errors))


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
