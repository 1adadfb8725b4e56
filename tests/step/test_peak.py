"""When memory is fullest: moments, their order, and what is told of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.coefficients.device import MemoryErrors
from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import probabilities, probability, stage_memory, stage_moments
from foretrain.step.peak import MemoryPeak, Moment, fullest
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Software
from foretrain.workload.execution import CrossEntropy, Kernels, Loss
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

ERRORS = MemoryErrors(p02=-0.1, p10=-0.05, p50=0.0, p90=0.1, p98=0.4)
FREED = Software(
    phased=True,
    wide_parameters=True,
    keeps=Kernels(loss=Loss.WHOLE, norms=True, separate=True, gathered=True),
)
KNOWN = setting(
    Workload(model=build("llama-3-8b", sequence=8192), global_batch=16),
    cluster("dgx-h100", 1),
    DEFAULT,
    software=FREED,
)
PLANS = [
    Plan(data=8, micro_batch=2, sharding=Sharding.PARAMETERS),
    Plan(data=8, micro_batch=1, sharding=Sharding.PARAMETERS, recompute=Recompute.FULL),
    Plan(data=8, micro_batch=1, sharding=Sharding.PARAMETERS, reshard=False),
    Plan(tensor=2, data=4, micro_batch=1, sequence_parallel=True, sharding=Sharding.GRADIENTS),
    Plan(pipeline=4, data=2, micro_batch=1, recompute=Recompute.FULL),
]


def moment(gradients, activations, buffers):
    return Moment(
        gradients=np.array([gradients]),
        activations=np.array([activations]),
        buffers=np.array([buffers]),
    )


def test_the_fullest_moment_is_the_one_of_the_largest_sum():
    most, at = fullest([moment(1.0, 5.0, 0.0), moment(4.0, 0.0, 3.0), moment(0.0, 0.0, 0.0)])
    assert (at[0], most.total[0], most.gradients[0]) == (1, 7.0, 4.0)


def test_the_first_of_equals_is_the_fullest():
    _, at = fullest([moment(0.0, 1.0, 0.0), moment(1.0, 0.0, 0.0)])
    assert at[0] == 0


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_no_moment_is_fuller_than_what_is_told(plan):
    held = hold(KNOWN, table_of([plan]))
    for run in held.runs:
        told = stage_memory(KNOWN, held, run=run)
        totals = [float(each.total[0]) for each in stage_moments(KNOWN, held, run=run)]
        assert max(totals) == pytest.approx(float(told.total[0]), rel=1e-12)


def test_a_row_of_a_table_is_the_plan_alone():
    together = hold(KNOWN, table_of(PLANS))
    for row, plan in enumerate(PLANS):
        alone = hold(KNOWN, table_of([plan]))
        for run in alone.runs:
            one, many = (stage_memory(KNOWN, each, run=run) for each in (alone, together))
            for name in ("gradients", "activations", "buffers", "phase"):
                assert (
                    np.broadcast_to(getattr(many, name), len(PLANS))[row]
                    == (np.broadcast_to(getattr(one, name), 1)[0])
                )


@pytest.mark.parametrize("plan", PLANS[:2], ids=str)
def test_a_loss_of_the_trainers_own_is_gone_before_a_layer_is_computed_again(plan):
    """So the smaller of what both take is not there, and of a layer that is kept nothing goes."""
    frameworks, own = (
        replace(KNOWN, software=Software(loss=each))
        for each in (CrossEntropy.SOFTMAX, CrossEntropy.APART)
    )
    held = hold(frameworks, table_of([plan]))
    together, apart = (stage_memory(each, held, run=0) for each in (frameworks, own))
    met, again = (float(held.of_stage(name, 0)[0]) for name in ("met", "transient"))
    outside = 1.0 + DEFAULT.memory.fragmentation
    assert float((together.total - apart.total)[0]) == pytest.approx(min(met, again) * outside)
    told = MemoryPeak.FIRST_LAYER if again > met else MemoryPeak.LOSS
    assert apart.phase[0] == told
    assert (again > 0) is (plan.recompute is Recompute.FULL)


def test_a_large_vocabulary_is_fullest_at_its_loss():
    found = price_plan(KNOWN, PLANS[1], played=False).memory
    assert found.peak == MemoryPeak.LOSS.words == found.heaviest.peak


def test_software_whose_buffers_stay_tells_no_moment():
    stays = setting(KNOWN.workload, KNOWN.cluster, DEFAULT)
    assert price_plan(stays, PLANS[1], played=False).memory.peak == ""


def test_what_is_gathered_once_and_stays_needs_more():
    dropped, stays = (
        price_plan(KNOWN, replace(PLANS[1], reshard=reshard), played=False).memory.total
        for reshard in (True, False)
    )
    assert stays > dropped


@given(st.lists(st.floats(1e9, 1e12), min_size=2, max_size=6))
def test_needing_more_is_never_likelier_to_fit(totals):
    likely = probabilities(np.array(sorted(totals)), 8e10, ERRORS)
    assert (np.diff(likely) <= 0).all()


@given(st.lists(st.floats(1e9, 1e12), min_size=1, max_size=6))
def test_many_predictions_are_as_sure_as_each_alone(totals):
    together = probabilities(np.array(totals), 8e10, ERRORS)
    assert list(together) == [probability(each, 8e10, ERRORS) for each in totals]


@pytest.mark.parametrize(("percentile", "share"), [("p02", 0.02), ("p50", 0.5), ("p98", 0.98)])
def test_a_margin_of_a_percentile_is_as_sure_as_it_says(percentile, share):
    margin = getattr(ERRORS, percentile)
    assert probability(1.0, np.exp(margin), ERRORS) == pytest.approx(share, abs=1e-4)
