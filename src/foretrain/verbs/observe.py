"""Observe: measured runs as what a fit learns from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretrain.calibrate.observation import Observation, observation
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.setting import setting
from foretrain.errors import ForetrainError
from foretrain.files.coefficients import PRIORS
from foretrain.measured.case import case_of
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.verbs.ladder import climb
from foretrain.verbs.predict import CATALOGUE, measured_seconds

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Some runs, and the sets that are to predict some of them.

    Attributes:
        runs: the runs.
        sets: the coefficients.
        asked: for each set, positions of the runs to predict.
    """

    runs: tuple[MeasuredRun, ...]
    sets: tuple[Coefficients, ...]
    asked: tuple[tuple[int, ...], ...]


def log_seconds(question: Question) -> list[Floats]:
    """Logarithms of predicted seconds for each set, 0 where none was asked for."""
    found = []
    for coefficients, asked in zip(question.sets, question.asked, strict=True):
        predicted = np.zeros(len(question.runs))
        for place in asked:
            seen = observed(question.runs[place])
            assert seen is not None
            predicted[place] = seen.log_seconds(coefficients)
        found.append(predicted)
    return found


@lru_cache(maxsize=4096)
def observed(run: MeasuredRun) -> Observation | None:
    """A run as an observation; None for one that says nothing of a step's time.

    A plan that is not stated whole is the one that the priors find to fit.
    """
    coefficients = PRIORS.coefficients
    if run.subject is not Subject.STEP_TIME or run.out_of_memory:
        return None
    try:
        case = case_of(run, CATALOGUE)
        measured = measured_seconds(run, case)
        if measured is None:
            return None
        priced = setting(case.workload, case.cluster, coefficients, software=case.software)
        plan = climb(priced, case.plausible).plan if case.heavier else case.plan
    except ForetrainError:
        return None
    return observation(priced, plan, measured=measured)
