"""A measured row as a step that can be compared: its question as a study, and what was measured."""

from __future__ import annotations

from dataclasses import fields

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.evidence.predict import CATALOGUE, meant_of, predict
from foretrain.measured.case import case_of
from foretrain.measured.coverage import NotCovered
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.plan.study import Space, Study
from foretrain.search.explain.compared import MeasuredStep
from foretrain.search.explain.pinned import pinned
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import Chosen
from foretrain.trainers.trainer import ANY


def measured_step(run: MeasuredRun, coefficients: Coefficients, *, of: str) -> MeasuredStep:
    """A measured row, to compare a study with.

    Args:
        run: the row, of a step's time.
        coefficients: by which it is predicted.
        of: what to call it.

    Raises:
        InputError: nothing is predicted of such a row, or it measures something else.
    """
    if run.subject is not Subject.STEP_TIME:
        raise InputError(f"{of}: measures the {run.subject}; the time of a step is compared.")
    try:
        case = meant_of(case_of(run, CATALOGUE), coefficients).case
        found = predict(run, coefficients)
    except NotCovered as error:
        raise InputError(f"{of}: nothing is predicted of this row: {error}.") from None
    if found.plan is None or found.measured is None:
        raise InputError(f"{of}: says no time of a step.")
    named = next((each for each in trainers() if each.name == case.trainer), None)
    every = tuple(each.name for each in fields(Space))
    chosen = None if named in (None, ANY) else Chosen(trainer=named, stated=every)
    study = Study(workload=case.workload, cluster=case.cluster, space=Space(), trainer=chosen)
    return MeasuredStep(
        study=pinned(study, found.plan, case.cluster),
        step_time=found.measured,
        of=of,
        expected=found.value,
    )
