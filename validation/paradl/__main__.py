"""Every golden output of the oracle beside what foretrain says.

    python -m validation.paradl

The exit status is 1 where a relative error is above its bar.
"""

from __future__ import annotations

import sys

from validation.paradl.goldens import error_of, goldens, predicted


def main() -> int:
    """Print every golden; whether one is missed."""
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
            f"| {golden.printed} | {predicted(golden):.10g} | {error:+.1e}{told} "
            f"| {golden.bar:.1e} | {' '.join(golden.variants)} |"
        )
    print(f"\n{missed} missed" if missed else "\nnone missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
