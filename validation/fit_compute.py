"""Fits what an A100 reaches inside a training to published single-node runs.

    python validation/fit_compute.py

Three coefficients are shares that no data sheet states: matrix products inside a training over the
best one measured alone, and fused attention over the peak in its forward and backward pass. They
are fitted to the rows `mpt-0081` to `mpt-0113`, dense decoders of 1 to 30 billion parameters on 8
A100 80GB, by least squares of the logarithm of predicted over measured time, every row weighted
alike. The rows cannot tell forward from backward attention: their ratio is that of dao2023,
section 4.1.

The runs shard parameters, which foretrain does not price yet: gathering them is taken as hidden.
`mpt-0080` is left out, for its allocator thrashes. The exit status is 1 if the coefficients of
`foretrain.cost.coefficients` are not the fitted ones, to two digits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.factors import factors
from foretrain.cost.held import hold
from foretrain.cost.setting import setting
from foretrain.cost.step import step_time
from foretrain.files.coefficients import DEFAULT, SHIPPED
from foretrain.files.measurements import read_measurements
from foretrain.measured.case import Case, case_of
from foretrain.measured.run import MeasuredRun
from foretrain.plan.table import table_of
from foretrain.verbs.predict import CATALOGUE

TABLE = Path(__file__).parent / "tables" / "llm_training.csv"
FORWARD, BACKWARD = 0.73, 0.63
DIGITS = 0.005
NAMES = ("matrix.sustained", "attention.forward", "attention.backward")


def main() -> int:
    """Fits, prints the result beside the coefficients in use; 1 if they differ."""
    runs = [
        run for run in read_measurements(TABLE) if run.id in SHIPPED.known["matrix.sustained"].rows
    ]
    cases = [(run, case_of(_optimizer_sharded(run), CATALOGUE)) for run in runs]
    fit = least_squares(_residuals(cases), [0.9, 0.5], diff_step=1e-3)
    fitted = _coefficients(fit.x)
    print(
        f"{len(cases)} rows, root mean square of the logarithms {np.sqrt(np.mean(fit.fun**2)):.3f}"
    )
    for name in NAMES:
        print(f"{name:20} fitted {fitted.value(name):.3f}   in use {DEFAULT.value(name):.3f}")
    for (run, case), residual in zip(cases, fit.fun, strict=True):
        print(f"  {run.id}  {run.network.name:10} {case.plan!s:40} {np.expm1(residual):+6.1%}")
    used = [DEFAULT.value(name) for name in NAMES]
    found = [fitted.value(name) for name in NAMES]
    return 0 if np.allclose(used, found, rtol=0.0, atol=DIGITS) else 1


def _optimizer_sharded(run: MeasuredRun) -> MeasuredRun:
    return replace(run, layout=replace(run.layout, zero_stage=1))


def _coefficients(values: NDArray[np.float64]) -> Coefficients:
    matmul, flash = (float(value) for value in values)
    return DEFAULT.changed(
        {
            "matrix.sustained": matmul,
            "attention.forward": FORWARD * flash,
            "attention.backward": BACKWARD * flash,
        }
    )


def _residuals(
    cases: list[tuple[MeasuredRun, Case]],
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    def residuals(values: NDArray[np.float64]) -> NDArray[np.float64]:
        coefficients = _coefficients(values)
        return np.array(
            [np.log(_seconds(case, coefficients) / run.measured) for run, case in cases]
        )

    return residuals


def _seconds(case: Case, coefficients: Coefficients) -> float:
    priced = setting(case.workload, case.cluster, coefficients)
    return float(step_time(priced, factors(priced, hold(priced, table_of([case.plan]))))[0])


if __name__ == "__main__":
    sys.exit(main())
