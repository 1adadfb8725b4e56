"""A yardstick: a fixed piece of arithmetic, by which figures of a busy machine can be compared."""

from __future__ import annotations

from time import process_time

import numpy as np

COLUMNS, ROWS, LOOPS = 2_000, 20_000, 1_000_000


def yardstick() -> float:
    """Processor seconds of some arithmetic on columns and a loop of the interpreter."""
    column = np.arange(float(ROWS))
    turned = np.arange(ROWS)[::-1].copy()
    start = process_time()
    for _ in range(COLUMNS):
        np.maximum(1.5 * column + column, column).take(turned)
    total = 0
    for number in range(LOOPS):
        total += number & 3
    return process_time() - start
