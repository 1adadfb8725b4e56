from dataclasses import replace

import numpy as np
import pytest
from tests.tables import published
from validation.fitting.images import Measured, benches_of, left_out, step_times

from foretrain.evidence.fit import free_of
from foretrain.evidence.predict import CATALOGUE, predict
from foretrain.measured.case import case_of
from foretrain.measured.lore import UPDATES
from foretrain.study.coefficients import DEFAULT, PRIORS

NAMES = {"tinynet_e", "resnet50", "vit_small_patch16_224", "AlexNet (OWT)", "vgg16", "hrnet_w18"}


@pytest.fixture(scope="module")
def runs():
    return [run for run in published("single_device") if run.network.name in NAMES]


@pytest.fixture(scope="module")
def measured(runs):
    return Measured(
        benches=benches_of([case_of(run, CATALOGUE) for run in runs]),
        seconds=np.array([run.measured for run in runs]),
        groups=tuple(run.network.name for run in runs),
        update=np.array([UPDATES.of(run) for run in runs]),
    )


def test_side_by_side_networks_take_what_each_takes_alone(runs, measured):
    alone = [predict(run, DEFAULT, played=False).value for run in runs]
    together = step_times(measured.benches, DEFAULT, update=measured.update)
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_a_step_without_its_update_is_shorter(measured):
    every = np.ones(len(measured.seconds), bool)
    whole = step_times(measured.benches, DEFAULT, update=every)
    passes = step_times(measured.benches, DEFAULT, update=~every)
    assert (passes < whole).all()


def test_what_is_left_out_does_not_move_its_own_prediction(measured):
    free = [free_of("traffic.sustained", PRIORS.known["traffic.sustained"])]
    name = measured.groups[0]
    mine = np.array([group == name for group in measured.groups])
    changed = replace(measured, seconds=np.where(mine, 3 * measured.seconds, measured.seconds))
    before, after = (left_out(each, free, DEFAULT) for each in (measured, changed))
    assert after[mine] == pytest.approx(before[mine], rel=0.02)
