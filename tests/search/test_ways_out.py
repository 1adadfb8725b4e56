"""Ways out: where nothing fits, every change that is named lets a plan fit, at the told price."""

from dataclasses import replace
from functools import cache

import pytest
from tests.small import gpt_study, with_memory

from foretrain.errors import NoPlanFits
from foretrain.plan.plan import Recompute
from foretrain.plan.study import Limit, Objective, Space
from foretrain.search.best_plans import best_plans, quickest
from foretrain.search.ways_out import nearest_plan, ways_out
from foretrain.study.coefficients import DEFAULT

SPACE = Space(micro_batch=(4,), recompute=(Recompute.NONE,))
STUDY = gpt_study(space=SPACE)


@cache
def least():
    """Bytes of the plan that needs the fewest."""
    study = replace(STUDY, objective=Objective.MEMORY)
    return best_plans(study, keep=1).best.estimate.memory.total


def found(study):
    asked = []

    def best(changed):
        asked.append(changed)
        return quickest(changed, coefficients=DEFAULT)

    near = nearest_plan(study, DEFAULT)
    ways = [*ways_out(study, near, coefficients=DEFAULT, best=best)]
    return ways, asked


@pytest.mark.parametrize("share", [0.99, 0.9, 0.8])
def test_every_way_out_leads_to_the_best_plan_of_the_changed_question_which_fits(share):
    ways, asked = found(with_memory(STUDY, share * least()))
    assert ways
    for way, changed in zip(ways, asked, strict=True):
        device = changed.cluster.device
        assert way.best.estimate.memory.total <= device.memory
        answer = best_plans(changed, keep=1)
        assert way.best.plan == answer.ranking[0].plan
        assert f"{way.best.plan}, " in str(way)


def test_ways_out_of_full_training_are_smaller_states_gradients_and_adapters():
    ways, _ = found(with_memory(STUDY, 0.99 * least()))
    changes = {way.change for way in ways}
    assert 'workload.optimizer = "adamw-8bit"' in changes
    assert 'workload.gradients = "bf16"' in changes
    assert "workload.trainable = { lora = 16 }" in changes


def test_plan_that_is_not_safe_enough_is_told_with_how_likely_it_fits():
    study = replace(with_memory(STUDY, 1.001 * least()), limit=Limit(fits=0.999))
    with pytest.raises(NoPlanFits) as caught:
        best_plans(study)
    text = str(caught.value)
    assert "by risk of device memory" in text
    assert "holds it with 99.9 % it may need" in text
    assert '- search.fits = "' in text
    percent = int(text.split('- search.fits = "')[1].split(" %", maxsplit=1)[0])
    assert best_plans(replace(study, limit=Limit(fits=percent / 100)), keep=1).plans
