"""Rows of a single device: how many are predicted, and how well what no fit has seen.

    python validation/single_device.py

Coefficients are fitted to all architecture families but one (`families.toml`), and predict that
one; then to all devices but one. Nothing that is fitted here is shipped. The exit status is 1 if a
figure that foretrain must keep is missed.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from validation.fitting.images import Measured, benches_of, left_out

from foretrain.errors import ForetrainError
from foretrain.evidence.fit import Free, free_of
from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.case import Case, case_of
from foretrain.measured.coverage import blanks
from foretrain.measured.lore import UPDATES
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import PRIORS
from foretrain.study.measurements import read_runs

HERE = Path(__file__).parent
TABLE = HERE / "tables" / "single_device.csv"
SOURCE = "timm-train-nchw"

MUST_COVER = 0.90
MUST_MEDIAN = 0.12
MUST_MEAN = 0.18

FREE = (
    "matrix.sustained",
    "matrix.best",
    "matrix.fp32",
    "traffic.sustained",
    "host.launch",
    "host.gap",
    "pictures.sustained",
    "pictures.plain",
    "pictures.winograd",
    "pictures.grouped",
    "pictures.feed",
    "pictures.relaid",
    "pictures.depthwise",
    "pictures.depthwise_backward",
    "pictures.eager",
)
"""Coefficients that decide the step of one device."""

Told = tuple[MeasuredRun, Case]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Share of the rows that are predicted, and errors with a family left out."""

    share: float
    median: float
    mean: float

    @property
    def kept(self) -> bool:
        """Whether all of them are good enough."""
        errs = self.median <= MUST_MEDIAN and self.mean <= MUST_MEAN
        return errs and self.share >= MUST_COVER


def main() -> int:
    """Print the figures; 1 if one that must be kept is missed."""
    found = of_families()
    told = tuple(_told(read_runs(TABLE)))
    _held(told, lambda run: run.place.device, title="device", parts=lambda run: run.framework)
    return 0 if found.kept else 1


def of_families() -> Figures:
    """Print and tell what comes out if each architecture family is left out once."""
    runs = read_runs(TABLE)
    told = tuple(_told(runs))
    complete = sum(not blanks(run) for run in runs)
    print(f"predicted: {len(told)} of {complete} rows with model, device, count and batch")
    family = families()
    timm = [each for each in told if each[0].source_id == SOURCE]
    median, mean = _held(timm, lambda run: family(run.network.name), title="architecture family")
    return Figures(share=len(told) / complete, median=median, mean=mean)


def _told(runs: Sequence[MeasuredRun]) -> Iterator[Told]:
    """The runs that are predicted and can be scored."""
    for run in runs:
        try:
            case = case_of(run, CATALOGUE)
        except ForetrainError as error:
            print(f"{run.id}: {error}", file=sys.stderr)
            continue
        if run.measured is not None:
            yield run, case


def _held(
    told: Sequence[Told],
    group: Callable[[MeasuredRun], str],
    *,
    title: str,
    parts: Callable[[MeasuredRun], str] = lambda run: "",
) -> tuple[float, float]:
    """Print errors by group, each left out of the fit that predicts it; their median and mean."""
    groups = tuple(group(run) for run, _ in told)
    seconds = np.array([run.measured for run, _ in told])
    measured = Measured(
        benches=benches_of([case for _, case in told]),
        seconds=seconds,
        groups=groups,
        update=np.array([UPDATES.of(run) for run, _ in told]),
    )
    errors = left_out(measured, _free(), PRIORS.coefficients) / seconds - 1
    keys = [f"{name} {parts(run)}".strip() for name, (run, _) in zip(groups, told, strict=True)]
    print(f"\nleft out: one {title} at a time")
    for key in sorted(set(keys)):
        print(f"  {key:42} {_figures(errors[[each == key for each in keys]])}")
    print(f"  {'all':42} {_figures(errors)}")
    return float(np.median(np.abs(errors))), float(np.mean(np.abs(errors)))


def _figures(errors: np.ndarray) -> str:
    sizes = np.abs(errors)
    return (
        f"{len(errors):4} rows   median {np.median(sizes):6.1%}   mean {np.mean(sizes):6.1%}   "
        f"bias {np.mean(errors):+7.1%}"
    )


def _free() -> tuple[Free, ...]:
    return tuple(free_of(name, PRIORS.known[name]) for name in FREE)


def families() -> Callable[[str], str]:
    """The family of a network's name."""
    table = tomllib.loads((HERE / "families.toml").read_text(encoding="utf-8"))
    prefixes: Mapping[str, str] = {
        prefix: name for name, members in table["families"].items() for prefix in members
    }

    def family(name: str) -> str:
        bare = name.lower()
        for trained in table["trained"]:
            bare = bare.removeprefix(trained)
        fitting = [prefix for prefix in prefixes if bare.startswith(prefix)]
        return prefixes[max(fitting, key=len)]

    return family


if __name__ == "__main__":
    sys.exit(main())
