"""Reach: models that are unlike every one whose steps the coefficients were fitted to."""

from __future__ import annotations

from foretrain.coefficients.covers import Covers
from foretrain.errors import MissingCoefficient
from foretrain.workload.graph import Model

FARTHEST = 0.5
"""Of the least share of parameters in products among the models fitted to, the part below which
nothing measured says what a step is made of."""


def refuse_beyond(model: Model, covers: Covers) -> None:
    """Refuse a model that lives in its tables, where no such model was fitted to.

    Products of matrices use nearly all parameters of the models that coefficients are fitted to.
    Where a step looks rows up instead, reads few of them and updates those alone, what was fitted
    says nothing of its time, not even how wrong it is.

    Args:
        model: of the workload.
        covers: the runs that the coefficients were fitted to.

    Raises:
        MissingCoefficient: no run of such a model was fitted to.
    """
    if model.multiplied >= FARTHEST * covers.multiplied:
        return
    raise MissingCoefficient(
        f"the time of a step of {model.name} is not known: products of matrices use "
        f"{model.multiplied:.2%} of its parameters, the rest are tables of which a sample looks up "
        f"rows. Of the models that the coefficients were fitted to they use "
        f"{covers.multiplied:.0%} or more, so nothing measured tells how lookups and updates of "
        "rows do. It must be measured; foretrain prices models whose parameters are multiplied."
    )
