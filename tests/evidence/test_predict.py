"""Predictions of measured runs: the same numbers as `estimate` and the paper's own formulas."""

from dataclasses import replace

import pytest
from tests.tables import by_id, published

from foretrain.evidence.predict import predict, stages_of
from foretrain.measured.coverage import NotCovered
from foretrain.measured.run import Subject
from foretrain.step.situation import interval
from foretrain.study.coefficients import DEFAULT

MEMORY = by_id("memory")
STEPS = by_id("llm_training")
GIB = 2.0**30


def test_a_step_time_has_an_interval_around_it():
    found = predict(STEPS["korthikanti-0002"], DEFAULT)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("task", ["pretrain", "forward+backward"])
@pytest.mark.parametrize("batch", [16, 512])
def test_an_interval_is_as_wide_as_its_situation_says_however_long_a_step_is(batch, task):
    run = replace(STEPS["korthikanti-0004"], global_batch=batch, task=task)
    found = predict(run, DEFAULT)
    wide = interval(DEFAULT, found.situation)
    assert found.low == pytest.approx(found.value * wide.low_factor)
    assert found.high == pytest.approx(found.value * wide.high_factor)


@pytest.mark.parametrize("batch", [16, 512])
def test_passes_alone_take_a_step_without_its_update(batch):
    step = predict(replace(STEPS["korthikanti-0004"], global_batch=batch), DEFAULT)
    passes = replace(STEPS["korthikanti-0004"], global_batch=batch, task="forward+backward")
    found = predict(passes, DEFAULT)
    assert 0 < found.value < step.value == pytest.approx(step.parts.total)
    assert found.value == pytest.approx(step.value - step.parts.update)
    assert found.parts == replace(step.parts, update=0.0)


def test_a_larger_batch_takes_longer():
    run = STEPS["korthikanti-0004"]
    twice = replace(run, global_batch=2 * run.global_batch)
    assert predict(twice, DEFAULT).value > predict(run, DEFAULT).value


def test_activations_are_those_of_the_papers_formula():
    """Korthikanti et al., equation 2: s b h L (10 + 24/t + 5 a s / (h t)) bytes."""
    sequence, samples, hidden, layers, heads, degree = 2048, 4, 6144, 48, 64, 8
    per_value = 10 + 24 / degree + 5 * heads * sequence / (hidden * degree)
    found = predict(MEMORY["korthikanti-mem-0002"], DEFAULT)
    assert found.value == pytest.approx(sequence * samples * hidden * layers * per_value)


def test_state_is_18_bytes_per_parameter_of_the_blocks():
    """12 layers hidden^2 parameters in the large matrices; biases and norms add 0.1 %."""
    found = predict(MEMORY["korthikanti-mem-0005"], DEFAULT)
    assert found.value == pytest.approx(18 * 12 * 96 * 12288**2 / 64, rel=1e-3)


def test_a_share_of_activations_without_savings_is_the_whole():
    run = MEMORY["korthikanti-mem-0017"]
    run = replace(run, layout=replace(run.layout, recompute="none"))
    assert predict(run, DEFAULT).value == 1.0


@pytest.mark.parametrize("name", ["korthikanti-mem-0005", "korthikanti-mem-0006"])
def test_the_true_first_stage_holds_more_than_its_blocks_alone(name):
    stages = stages_of(MEMORY[name], DEFAULT)
    assert len(stages) == 8
    assert stages[0] > predict(MEMORY[name], DEFAULT).value
    assert f"{stages[0] / GIB:.1f} GiB on the first stage" in predict(MEMORY[name], DEFAULT).remark


def test_peak_memory_is_more_than_state_and_activations():
    run = MEMORY["korthikanti-mem-0002"]
    peak = predict(replace(run, subject=Subject.PEAK_MEMORY), DEFAULT)
    state = predict(replace(run, subject=Subject.STATE), DEFAULT)
    assert peak.value > state.value + predict(run, DEFAULT).value
    assert peak.low < peak.value < peak.high


def test_assumptions_come_with_the_prediction():
    assert "optimizer Adam" in predict(MEMORY["korthikanti-mem-0002"], DEFAULT).assumed


@pytest.mark.parametrize("subject", [Subject.THROUGHPUT])
def test_a_subject_without_a_formula_is_not_covered(subject):
    with pytest.raises(NotCovered, match=f"{subject} is not covered"):
        predict(replace(STEPS["korthikanti-0002"], subject=subject), DEFAULT)


def test_a_transfer_has_as_much_of_its_interval_below_as_above():
    run = published("collectives")[0]
    found = predict(run, DEFAULT)
    assert found.low < found.value < found.high
    assert found.low * found.high == pytest.approx(found.value**2)
