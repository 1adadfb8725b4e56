"""What a few rows of one's own are worth, on places that are made up."""

import numpy as np
import pytest
from tests.measured.runs import GPT
from validation.anchoring import OwnPlace, errors, steps
from validation.fitting.scores import Scored

from foretrain.evidence.fit import Rows
from foretrain.evidence.result import PACE


def place(residual):
    """A place whose rows were predicted so far off, in logarithms."""
    many = len(residual)
    slopes = np.zeros((many, len(steps())))
    slopes[:, 0] = PACE
    row = Scored(run=GPT, publisher="nobody", measured=1.0, predicted=1.0)
    rows = Rows(measured=np.array(residual), weight=np.ones(many), trainer=np.ones((many, 1)))
    return OwnPlace(
        name="made up", scored=(row,) * many, rows=rows, predicted=np.zeros(many), slopes=slopes
    )


def test_a_place_that_is_as_slow_throughout_is_predicted_the_better_the_more_is_known_of_it():
    cold, one, three, ten = errors(place([0.3] * 20), draws=5)
    assert cold == pytest.approx(1 - np.exp(-0.3))
    assert cold > one > three > ten
    assert ten < 0.1


def test_a_place_that_has_no_pace_of_its_own_loses_little_by_rows_that_differ():
    cold, *after = errors(place([0.4, -0.4] * 20), draws=40)
    assert max(after) - cold < 0.03


def test_draws_are_the_same_each_time():
    its = place(np.linspace(-0.2, 0.4, 30))
    assert errors(its, draws=5) == errors(its, draws=5)
