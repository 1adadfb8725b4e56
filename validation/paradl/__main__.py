"""Every golden output of the oracle beside what foretrain says; or measured runs beside both.

    python -m validation.paradl              # golden outputs
    python -m validation.paradl --measured   # accuracy on the measured runs, strategy by strategy

The exit status is 1 where the relative error of a golden is above its bar.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from validation.paradl.goldens import error_of, goldens, predicted
from validation.paradl.measured import SOURCES, accuracies, rankings


def main(arguments: Sequence[str] = ()) -> int:
    """Print what is asked for; whether a golden is missed."""
    if "--measured" in arguments:
        _measured()
        return 0
    missed = 0
    print(
        "| strategy | network | devices | quantity | printed | foretrain | error | bar | variant |"
    )
    print("|---|---|---:|---|---:|---:|---:|---:|---|")
    for golden in goldens():
        error = error_of(golden)
        told = "" if abs(error) <= golden.bar else " **missed**"
        missed += bool(told)
        print(
            f"| {golden.strategy} | {golden.network} | {golden.devices} | {golden.quantity} "
            f"| {golden.value!r} | {predicted(golden):.10g} | {error:+.1e}{told} "
            f"| {golden.bar:.1e} | {' '.join(golden.variants)} |"
        )
    print(f"\n{missed} missed" if missed else "\nnone missed")
    return 1 if missed else 0


def _measured() -> None:
    """Mean accuracies, of foretrain and of the authors' model on the same cells, and rankings."""
    print("| source | strategy | cells | foretrain | authors |")
    print("|---|---|---:|---:|---:|")
    for source in SOURCES:
        for found in accuracies(source):
            print(
                f"| {source} | {found.strategy} | {found.cells} | {found.ours:.0%} "
                f"| {found.theirs:.0%} |"
            )
    print("\n| network | devices | measured, the quickest first | foretrain ranks so |")
    print("|---|---:|---|---|")
    for case in rankings():
        order, told = " < ".join(case.measured), "yes" if case.right else " < ".join(case.predicted)
        print(f"| {case.network} | {case.devices} | {order} | {told} |")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
