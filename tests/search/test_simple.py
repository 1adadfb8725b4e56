"""Simple plans: what counts as complex, and that nothing as simple and lean is missed."""

from dataclasses import replace

import numpy as np
import pytest
from tests.small import expert_study, gpt_study, llama_study, long_study, with_memory

from foretrain.plan.plan import Offload, Plan, Recompute, Schedule
from foretrain.plan.table import table_of
from foretrain.search.best_plans import best_plans
from foretrain.search.candidate import Priced
from foretrain.search.simple import WINDOW, Simple, complexity_of

STUDIES = {
    "gpt": gpt_study(),
    "llama": llama_study(),
    "experts": expert_study(),
    "long": long_study(),
}


@pytest.mark.parametrize(
    ("plan", "things"),
    [
        (Plan(data=64), 0),
        (Plan(data=64, micro_batch=4, sharding=3, recompute=Recompute.FULL), 0),
        (Plan(data=8, tensor=8), 1),
        (Plan(data=8, tensor=4, pipeline=2), 2),
        (Plan(data=8, tensor=4, pipeline=2, interleaving=5), 3),
        (Plan(data=8, tensor=4, pipeline=2, cut=(3, 5)), 3),
        (Plan(data=8, pipeline=2, schedule=Schedule.ZERO_BUBBLE), 2),
        (Plan(data=64, micro_batch=3), 1),
        (Plan(data=64, offload=Offload.BOTH, shard=8), 2),
        (Plan(data=8, tensor=2, order=("data", "tensor", "context", "pipeline")), 2),
    ],
)
def test_every_thing_that_a_plan_needs_beside_replicas_counts_once(plan, things):
    assert complexity_of(plan) == things


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("tight", [1.0, 0.05])
def test_bounded_search_proposes_what_the_exhaustive_search_does(name, tight):
    study = STUDIES[name]
    study = with_memory(study, tight * study.cluster.device.memory) if name == "gpt" else study
    quick, whole = (best_plans(study, exhaustive=exhaustive) for exhaustive in (False, True))
    assert quick.plans == whole.plans
    assert quick.safety == whole.safety


def priced(*rows):
    """A table of plans on the cluster of a study: (plan, value, share of the memory)."""
    cluster = gpt_study().cluster
    plans, values, shares = zip(*rows, strict=True)
    value = np.array(values)
    return Priced(
        cluster=cluster,
        plans=table_of(plans),
        value=value,
        step_time=value,
        memory=np.array(shares) * cluster.device.memory,
    )


ZERO, ONE, TWO = Plan(data=8), Plan(data=4, tensor=2), Plan(data=2, tensor=2, pipeline=2)


def told(simple):
    return [(each.plan, each.value, share) for each, share in simple.members]


def test_simpler_plan_stays_though_it_is_slower_and_fuller():
    found = Simple()
    found.add(priced((TWO, 1.0, 0.5), (ZERO, 1.2, 0.9)))
    assert {plan for plan, _, _ in told(found)} == {TWO, ZERO}


def test_plan_that_a_simpler_one_beats_goes_whichever_came_first():
    for order in ((TWO, ONE), (ONE, TWO)):
        found = Simple()
        for plan in order:
            found.add(priced((plan, 1.0 if plan is ONE else 1.1, 0.5)))
        assert told(found) == [(ONE, 1.0, 0.5)]


def test_simplicity_is_worth_no_more_than_the_window():
    found = Simple()
    found.add(priced((ZERO, 1.0, 0.5)))
    found.add(priced((TWO, 0.9 / WINDOW, 0.5)))
    assert told(found) == [(TWO, 0.9 / WINDOW, 0.5)]


def test_bounds_of_a_region_count_as_long_as_nothing_as_simple_beats_them():
    found = Simple()
    found.add(priced((ONE, 1.0, 0.5)))
    bounds = priced(
        (ONE, 1.01, 0.5), (ONE, 1.01, 0.4), (ZERO, 1.01, 0.9), (TWO, 1.0, 0.5), (TWO, 9.0, 0.1)
    )
    assert found.beats(bounds, np.arange(5)).tolist() == [True, False, False, False, True]


def test_of_exact_equals_the_first_in_rank_stays():
    like = replace(ONE, recompute=Recompute.SELECTIVE)
    for order in ((ONE, like), (like, ONE)):
        found = Simple()
        found.add(priced(*((plan, 1.0, 0.5) for plan in order)))
        assert [plan for plan, _, _ in told(found)] == [min(order, key=str)]


def test_placement_that_a_region_may_still_change_excludes_nothing():
    """Of one placement a region's plan is as complex as a member; of another it is simpler."""
    found = Simple()
    found.add(priced((ONE, 1.0, 0.5)))
    odd = replace(ZERO, order=("data", "tensor", "context", "pipeline"))
    assert complexity_of(odd) == complexity_of(ONE)
    assert not found.beats(priced((odd, 1.1, 0.6)), np.array([0])).any()
