"""One measured step: predictions of it are exact afterwards, all others relative to it."""

from dataclasses import replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import small
from tests.examples import few

from foretrain.coefficients.coefficients import Origin
from foretrain.coefficients.intervals import after_anchor
from foretrain.errors import InputError
from foretrain.evidence.calibrate import WIDTHS, anchor, anchored
from foretrain.evidence.result import FACTOR
from foretrain.plan.plan import Recompute
from foretrain.plan.study import Space
from foretrain.step.estimate import estimate
from foretrain.study.coefficients import SHIPPED, as_toml
from foretrain.workload.workload import Data


def one(**fields):
    """A study of the small model with one plan, on nodes with a host."""
    chosen = {"micro_batch": 1, "tensor": 2} | fields
    space = Space(**{name: (value,) for name, value in chosen.items()})
    nodes = small.cluster(nodes=3, node_devices=4, host=small.HOST)
    return small.llama_study(cluster=nodes, space=space)


def waiting(seconds):
    """The same whose samples take some seconds of a core each."""
    study = one()
    data = Data(samples=1e6, sample_bytes=1e3, prepare=seconds)
    return replace(study, workload=replace(study.workload, data=data))


@few(10)
@given(times=st.floats(0.2, 5.0))
def test_the_measured_step_is_predicted_exactly(times):
    study = one()
    seconds = times * estimate(study).step_time
    made = anchored(study, seconds, anyway=True)
    after = estimate(study, coefficients=made.coefficients)
    assert after.step_time == pytest.approx(seconds, rel=1e-9)
    assert made.known[FACTOR].value == pytest.approx(times, rel=1e-9)


@pytest.mark.parametrize(
    "other", [{"tensor": 1}, {"pipeline": 3}, {"recompute": Recompute.FULL}], ids=str
)
def test_the_steps_of_other_plans_are_relative_to_it(other):
    before = estimate(one(**other)).step_time
    made = anchored(one(), 1.3 * estimate(one()).step_time).coefficients
    after = estimate(one(**other), coefficients=made).step_time
    assert after == pytest.approx(1.3 * before, rel=1e-9)


def test_a_second_step_takes_the_place_of_the_first():
    once = anchored(one(), 1.3 * estimate(one()).step_time)
    twice = anchored(one(), 0.9 * estimate(one()).step_time, base=once)
    assert twice.known[FACTOR].value == pytest.approx(0.9, rel=1e-9)


def test_the_pace_and_the_widths_of_intervals_are_all_that_changes():
    made = anchored(one(), 1.3 * estimate(one()).step_time)
    changed = {name for name, it in made.known.items() if it != SHIPPED.known[name]}
    assert changed == {FACTOR, *WIDTHS}
    assert made.coefficients.uncertainty == after_anchor(SHIPPED.coefficients.uncertainty)


def test_the_interval_is_narrower_afterwards():
    before = estimate(one())
    after = estimate(one(), coefficients=anchored(one(), before.step_time).coefficients)
    assert after.step_time_high / after.step_time_low < before.step_time_high / before.step_time_low


def test_the_pace_says_which_step_it_was_measured_on():
    made = anchored(one(), 2.0, run="study.toml", anyway=True)
    width = after_anchor(SHIPPED.coefficients.uncertainty)
    pace = made.known[FACTOR]
    assert (pace.kind, pace.rows) == (Origin.MEASURED, ("study.toml",))
    assert "2 s" in pace.source
    assert pace.high / pace.value == pytest.approx(exp(width.time))
    assert pace.value / pace.low == pytest.approx(exp(width.time * width.quicker))


def test_the_answer_is_a_set_of_its_own_name_that_says_what_moved():
    seconds = 1.1 * estimate(one()).step_time
    found = anchor(one(), seconds, run="study.toml", name="mine", date="2026-11-22")
    assert found.calibration.coefficients.name == "mine"
    assert [(it.name, it.prior, it.rows) for it in found.moved] == [(FACTOR, 1.0, 1)]
    assert found.moved[0].value == pytest.approx(1.1)
    assert found.rows == ("study.toml",)
    assert 'rows = [\n    "study.toml",\n]' in as_toml(found.calibration, over=SHIPPED, about="")


def test_waiting_for_samples_is_no_part_of_the_pace():
    computed = estimate(one()).step_time
    slow = waiting(1.5 * computed * cores() / batch())
    assert estimate(slow).parts.input > 0
    made = anchored(slow, 2.0 * computed, anyway=True)
    assert made.known[FACTOR].value == pytest.approx(2.0, rel=1e-9)


def test_a_step_shorter_than_its_samples_take_is_refused():
    computed = estimate(one()).step_time
    with pytest.raises(InputError, match=r"read and prepare\. Correct \[workload.data\]"):
        anchored(waiting(1.5 * computed * cores() / batch()), computed)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_step_of_no_length_is_refused(seconds):
    with pytest.raises(InputError, match="must be above 0 s"):
        anchored(one(), seconds)


def test_a_study_of_several_plans_is_refused():
    study = small.llama_study(space=Space(tensor=(1, 2), micro_batch=(1,)))
    with pytest.raises(InputError, match=r"plan.tensor: has 2 choices"):
        anchored(study, 1.0)


def cores():
    cluster = one().cluster
    return cluster.nodes * cluster.host.cores


def batch():
    return one().workload.global_batch
