"""Fits of the step model to the steps that a job has made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from foretrain.errors import InputError
from foretrain.jobs.steps import StepModel
from foretrain.measured.profile import TimedStep

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Column = NDArray[np.float64]

LEAST = 1e-8
"""Seconds that stand for none: a fit takes logarithms and quotients."""

BEGIN = (1e-1, 1e-2, 1e-1, 1e-2, 1e-1, 1e-2, 1.0 + 1e-3)
"""Where a fit begins, in the order of StepModel. Source: adaptdl (from memory)."""

MOST_OVERLAP = 10.0
"""Beyond it computing and exchanging hide each other wholly. Source: adaptdl (from memory)."""

CALM_OVERLAP = 1e-3
"""Weight against large overlaps, which are hard to fit. Source: adaptdl (from memory)."""

HOPE = 1e-2
"""Weight against exchanges that grow with devices: unseen scales are thought well of. Source:
adaptdl (from memory)."""

FAR_AT_LEAST = 1.1
"""An exchange between nodes, never seen, in exchanges within one. Source: adaptdl (from memory)."""


def fitted(steps: Sequence[TimedStep]) -> StepModel:
    """The model whose logarithms lie closest to measured ones.

    What was never seen is thought well of: without two nodes, or two devices, or three, or two
    batches, the numbers that only they could show stay at their least. So a job tries more.

    Args:
        steps: at least one.

    Source: qiao2021, section 4.1 ("prior-driven exploration"), weights from adaptdl's fit.
    """
    import numpy as np
    from scipy.optimize import Bounds, minimize

    if not steps:
        raise InputError("a step model cannot be fitted to no step. Give at least one.")
    rows = np.array(
        [(each.nodes, each.devices, each.batch, each.step - each.sync, each.step) for each in steps]
    ).T
    low, high = map(np.log, _bounds(rows))
    found = minimize(
        _loss,
        np.clip(np.log(BEGIN), low, high),
        args=(rows,),
        jac="3-point",
        bounds=Bounds(low, high),
        method="L-BFGS-B",
    )
    compute, sample, near, near_more, far, far_more, overlap = map(float, np.exp(found.x))
    if not np.any(rows[0] > 1):
        far, far_more = max(far, near * FAR_AT_LEAST), max(far_more, near_more * FAR_AT_LEAST)
    return StepModel(
        compute=compute, sample=sample, near=near, near_more=near_more, far=far, far_more=far_more,
        overlap=overlap,
    )  # fmt: skip


def _bounds(rows: Column) -> tuple[Column, Column]:
    """Least and most of each number; equal where nothing seen could show it."""
    import numpy as np

    nodes, devices, batch, computing, _ = rows
    low = np.array([LEAST] * 6 + [1.0])
    high = np.array([np.inf] * 6 + [MOST_OVERLAP])
    if len(np.unique(batch)) == 1:
        low[0] = high[0] = np.mean(computing) / 2
    seen_near = np.any((nodes == 1) & (devices > 1))
    for place, seen in (
        (2, seen_near), (3, seen_near and np.any(devices > 2)),
        (4, np.any(nodes > 1)), (5, np.any(nodes > 1) and np.any(devices > 2)),
    ):  # fmt: skip
        if not seen:
            high[place] = low[place]
    return low, high


def _loss(logarithms: Column, rows: Column) -> float:
    """Root mean square errors of the logarithms, of computing and of steps, and priors."""
    import numpy as np

    compute, sample, near, near_more, far, far_more, overlap = np.exp(logarithms)
    nodes, devices, batch, computing, step = rows
    said = compute + sample * batch
    first = np.where(nodes > 1, far, near)
    more = np.where(nodes > 1, far_more, near_more)
    exchange = np.where(devices > 1, first + more * np.maximum(devices - 2, 0), LEAST)
    whole = np.log(said**overlap + exchange**overlap) / overlap
    errors = _root(np.log(said) - np.log(computing)) + _root(whole - np.log(step))
    growth = (near_more / near) ** 2 + (far_more / far) ** 2
    return float(errors + CALM_OVERLAP * (overlap - 1.0) ** 2 + HOPE * growth)


def _root(errors: Column) -> float:
    import numpy as np

    return float(np.sqrt(np.mean(errors**2)))
