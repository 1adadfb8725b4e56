"""Peaks: measured memory as the rows that its coefficients are fitted to, and whether runs fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foretrain.calibrate.memory import MemoryRow
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.held import hold
from foretrain.cost.memory import heaviest_total
from foretrain.cost.room import probability
from foretrain.cost.setting import setting
from foretrain.errors import InputError
from foretrain.measured.case import Case, case_of
from foretrain.measured.counted import counts_allocated
from foretrain.measured.run import MeasuredRun
from foretrain.plan.legality import problems
from foretrain.plan.table import table_of
from foretrain.verbs.predict import CATALOGUE, memory_of_case

NOTHING_ADDED = {"memory.reserve": 0.0, "memory.fragmentation": 0.0, "memory.temporaries": 0.0}
KEPT_ADDED = NOTHING_ADDED | {"memory.temporaries": 1.0}
"""What a micro-batch keeps is then counted once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a run needs on its heaviest device, of the plans that it may have had the leanest.

    Attributes:
        total: bytes.
        room: bytes of the device.
        probability: how likely it fits.
        choices: plans that it may have had.
    """

    total: float
    room: float
    probability: float
    choices: int

    @property
    def fits(self) -> bool:
        """Whether it is predicted to fit."""
        return self.total <= self.room


def memory_row(
    run: MeasuredRun, measured: float, coefficients: Coefficients, *, bound: bool = False
) -> MemoryRow:
    """A measured peak and what formulas count of it.

    Args:
        run: the run.
        measured: bytes of the peak.
        coefficients: for all but what they add to memory.
        bound: whether `measured` is what the device has instead.

    Raises:
        NotCovered: foretrain does not predict such a run.
        InputError: the plan cannot run on the cluster.
    """
    case = case_of(run, CATALOGUE)
    counted, with_kept = (
        memory_of_case(case, coefficients.changed(added)).total
        for added in (NOTHING_ADDED, KEPT_ADDED)
    )
    return MemoryRow(
        id=run.id,
        source=run.source_id,
        model=run.network.name + f" {run.network.parameters or 0:g}",
        measured=measured,
        counted=counted,
        kept=with_kept - counted,
        allocated=counts_allocated(run) and not bound,
        bound=bound,
    )


def need(run: MeasuredRun, coefficients: Coefficients) -> Need:
    """What a run needs.

    Raises:
        NotCovered: foretrain does not predict such a run.
        InputError: the plan cannot run on the cluster.
    """
    case = case_of(run, CATALOGUE)
    totals, room = tuple(_totals(case, coefficients)), case.cluster.device.memory
    total = min(totals)
    spread = case.workload.model.spread
    return Need(
        total=total,
        room=room,
        probability=probability(total, room, coefficients.memory_errors, spread=spread),
        choices=len(totals),
    )


def _totals(case: Case, coefficients: Coefficients) -> Iterator[float]:
    """Bytes of every plan that a run may have had."""
    priced = setting(case.workload, case.cluster, coefficients, software=case.software)
    for plan in (case.plan, *case.heavier):
        wrong = problems(case.workload, case.cluster, plan)
        if wrong:
            raise InputError("\n".join(wrong))
        yield float(heaviest_total(priced, hold(priced, table_of([plan])))[0])
