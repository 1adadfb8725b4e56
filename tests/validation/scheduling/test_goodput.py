"""Goodput: by hand, on steps that lie on a plane."""

import pytest
from tests.validation.scheduling.profiles import SMALL, step
from validation.scheduling.goodput import Goodput, Limits, candidates, limits, packed
from validation.scheduling.learning import Learning
from validation.scheduling.steps import MeasuredSteps

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.fifo import fifo
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Job, Trace


def curve(batch=0):
    return Goodput(
        steps=MeasuredSteps(SMALL),
        learning=Learning(SMALL),
        limits=limits(SMALL),
        batch=batch,
        per_node=2,
        most=8,
    )


def test_limits_are_those_of_the_measurements():
    assert limits(SMALL) == Limits(smallest=4, largest=8, least=1, most=4)


def test_a_fixed_batch_learns_by_its_worth_per_step():
    quick = curve(8).rate(4, nodes=2, kind="", done=0.0)
    assert quick == pytest.approx((2.0 / 1.5) / step(2, 4, 2))


def test_passes_after_the_first_compute_without_exchanging():
    # 8 samples on one device of at most 4: two passes, and nothing to exchange.
    slow = curve(8).rate(1, nodes=1, kind="", done=0.0)
    assert slow == pytest.approx((2.0 / 1.5) / (2 * step(1, 1, 4)))


def test_no_number_of_nodes_means_as_few_as_can_be():
    for devices, nodes in ((1, 1), (2, 1), (4, 2)):
        few = curve(8).rate(devices, nodes=0, kind="", done=0.0)
        assert few == curve(8).rate(devices, nodes=nodes, kind="", done=0.0)


def test_the_rate_changes_with_the_epoch():
    job = curve(8)
    early, late = (job.rate(2, nodes=1, kind="", done=done) for done in (0.0, 10.0))
    assert late / early == pytest.approx((4.0 / 2.5) / (2.0 / 1.5))
    assert job.until(0.0) == 10.0


def test_time_left_counts_the_steps_of_all_epochs():
    job = curve(8)
    left = job.seconds(2, nodes=1, kind="", done=5.0, until=20.0)
    assert left == pytest.approx((14.0 - 4.0) * step(1, 2, 4))


def test_time_left_of_an_adaptive_job_adds_up_its_epochs():
    job = curve()
    early, late = (job.rate(2, nodes=1, kind="", done=done) for done in (0.0, 10.0))
    left = job.seconds(2, nodes=1, kind="", done=5.0, until=20.0)
    assert left == pytest.approx(5.0 / early + 10.0 / late)


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
@pytest.mark.parametrize("done", [0.0, 10.0])
def test_no_candidate_beats_the_adaptive_batch(devices, done):
    job, placement = curve(), packed(devices, -(-devices // 2), 2)
    quick = job.rate(devices, nodes=len(placement), kind="", done=done)
    for each in candidates(devices, job.limits):
        worth = job.learning.gain(each.total(devices), job.learning.epoch(done))
        assert quick >= worth / job.step(placement, each)


def test_a_simulation_notices_that_the_rate_changes():
    fixed = curve(8)
    job = Job(name="small", arrival=0.0, work=20.0, curve=fixed, devices=2)
    trace, shared = Trace(name="alone", jobs=(job,)), fleet(2, per_node=2)
    (end,) = Simulation(trace, CountedPool(shared), OrderedDispatcher(fifo())).run().ended
    early, late = (fixed.rate(2, nodes=1, kind="", done=done) for done in (0.0, 10.0))
    assert end == pytest.approx(10.0 / early + 10.0 / late)


def test_counts_end_where_a_device_would_get_less_than_was_measured():
    assert curve(4).counts == (1, 2, 3, 4)
    assert curve().counts == tuple(range(1, 9))


def test_nodes_are_filled_before_the_next_is_used():
    assert packed(6, 2, 4) == (4, 2)
    assert packed(6, 4, 4) == (3, 1, 1, 1)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="batch must lie from 4 to 8"):
        curve(9)
    with pytest.raises(InputError, match="9 devices do not lie on 2 nodes of 4"):
        packed(9, 2, 4)
