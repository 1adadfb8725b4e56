"""Whole jobs in the answer of `estimate` and `search`."""

from dataclasses import replace

import pytest
from tests.small import QUICK_HOST, cluster, gpt_study, resnet_study

from foretrain.cluster.cluster import Host, Storage
from foretrain.errors import NoPlanFits
from foretrain.plan.study import JobPlan, Limit, Space, Writes
from foretrain.search.search import search
from foretrain.step.estimate import estimate
from foretrain.workload.workload import BatchRamp, Data, Evaluation

KNOWN = {
    "host": Host(cores=64, memory=1e12, memory_bandwidth=4e11, device_bandwidth=5e10),
    "storage": Storage(read=5e9, write=2e9),
    "mtbf": 5 * 86400.0,
}
ONE = Space(micro_batch=(1,), tensor=(2,))
JPEG = Data(samples=1_281_167, sample_bytes=110e3, prepare=9e-3)


def of_gpt(*, known=KNOWN, job=None, **workload):
    study = gpt_study(cluster=cluster(nodes=2, node_devices=8, **known), space=ONE, job=job)
    return replace(study, workload=replace(study.workload, **workload))


def of_resnet(*, known=KNOWN, micro_batch=8, **changes):
    study = resnet_study(cluster=cluster(nodes=1, node_devices=8, **known))
    workload = replace(study.workload, **({"data": JPEG} | changes))
    return replace(study, workload=workload, space=Space(micro_batch=(micro_batch,)))


def test_job_that_nobody_asked_about_is_its_steps():
    answer = estimate(of_gpt())
    assert answer.start_time == 0.0
    assert answer.goodput == 1.0
    assert answer.time_to_train == pytest.approx(62_500 * answer.step_time)
    assert answer.job.failures == 0.0


def test_parts_of_a_job_add_up_to_its_time_and_cost():
    answer = estimate(of_gpt(job=JobPlan(), evaluation=Evaluation(every=1e5, samples=1e4)))
    parts = answer.job.parts
    assert answer.time_to_train == parts.total
    assert min(parts.start, parts.evaluation, parts.checkpoints, parts.lost, parts.restarts) > 0
    assert answer.goodput == pytest.approx(parts.steps / (parts.total - parts.start))
    assert answer.cost_to_train == pytest.approx(16 * 2.5 / 3600 * parts.total)
    assert answer.start_time == answer.job.start_time == parts.start


def test_goodput_needs_no_amount_where_checkpoints_are_written():
    answer = estimate(of_gpt(job=JobPlan(), samples=None))
    assert 0.0 < answer.goodput < 1.0
    assert answer.time_to_train is answer.job.parts is None
    never = estimate(of_gpt(job=JobPlan(checkpoint=Writes.NEVER), samples=None))
    assert never.goodput is None
    assert "depends on workload.amount" in " ".join(never.warnings)


def test_what_is_not_known_is_null_and_the_key_to_add_is_named():
    answer = estimate(of_gpt(known={}, job=JobPlan()))
    assert answer.goodput is answer.time_to_train is answer.cost_to_train is None
    told = " ".join(answer.warnings)
    assert "so goodput and time to train are not predicted: add cluster.mtbf, or leave" in told
    assert "add cluster.storage" in told


def test_job_without_an_amount_says_what_it_does_not_tell():
    told = "[job] tells no time to train: add workload.amount"
    assert told in estimate(of_gpt(job=JobPlan(), samples=None)).warnings
    assert told not in estimate(of_gpt(job=JobPlan())).warnings
    assert told not in estimate(of_gpt(samples=None)).warnings


def test_training_that_fails_before_anything_is_saved_has_no_end():
    hopeless = of_gpt(known=KNOWN | {"mtbf": 1.0}, job=JobPlan())
    answer = estimate(hopeless)
    assert answer.time_to_train is None
    assert "not expected to end" in " ".join(answer.warnings)


def test_evaluation_takes_less_than_as_many_steps():
    parts = estimate(of_gpt(evaluation=Evaluation(every=1e6, samples=16_000))).job.parts
    step = estimate(of_gpt()).step_time
    assert 0.1 * 1000 * step < parts.evaluation < 0.6 * 1000 * step


def test_ramp_makes_a_training_longer_and_its_full_steps_are_unchanged():
    ramp = BatchRamp(start=8, increment=8, samples=100_000.0)
    plain, ramped = estimate(of_gpt()), estimate(of_gpt(ramp=ramp))
    assert ramped.step_time == plain.step_time
    assert ramped.time_to_train > plain.time_to_train
    most = plain.time_to_train + 100_000 / 8 * plain.step_time
    assert ramped.time_to_train < most


def test_ramp_whose_steps_the_plan_cannot_run_is_told():
    answer = estimate(of_gpt(ramp=BatchRamp(start=4, increment=4, samples=1e5)))
    assert answer.time_to_train is None
    told = "workload.batch_ramp has steps of 4 samples, but plan.data: 8"
    assert any(told in warning for warning in answer.warnings)


def test_input_is_free_where_it_is_quicker_than_the_devices():
    quick = replace(JPEG, prepare=1e-9)
    assert estimate(of_resnet(data=quick)).parts.input == 0.0


def test_input_that_is_slower_decides_the_step_at_both_resolutions():
    answer = estimate(of_resnet(), coefficients=QUICK_HOST)
    assert answer.step_time == pytest.approx(64 * 9e-3 / 64)
    assert answer.parts.input > 0.0
    assert answer.parts.total == answer.step_time
    assert answer.closed_form == answer.simulated == pytest.approx(answer.step_time)


def test_input_of_what_the_cluster_does_not_say_is_told_and_not_guessed():
    answer = estimate(of_resnet(known={}))
    assert answer.parts.input == 0.0
    assert "reading the data set is not priced: add cluster.storage" in answer.warnings
    assert "preparing samples is not priced: add cluster.host" in answer.warnings


def test_first_epoch_waits_for_disks_that_the_hosts_memory_then_replaces():
    slow = KNOWN | {"storage": Storage(read=1e8, write=1e8)}
    data = replace(JPEG, prepare=1e-9)
    later = estimate(of_resnet(known=slow, data=data, samples=90 * JPEG.samples))
    assert later.parts.input == 0.0
    assert later.job.parts.cold_input > 0.0
    once = estimate(of_resnet(known=slow, data=data, samples=JPEG.samples))
    assert once.step_time == pytest.approx(64 * 110e3 / 1e8)
    # The later epochs wait for the devices, not for disks: what is left is rounding.
    assert once.job.parts.cold_input == pytest.approx(0.0, abs=1e-9)


def test_search_ranks_plans_as_their_estimates_say_with_input():
    study = replace(of_resnet(), space=Space())
    found = search(study, keep=5, coefficients=QUICK_HOST)
    times = [each.estimate.step_time for each in found.ranking]
    assert times == sorted(times)
    assert found.ranking[0].estimate.step_time == pytest.approx(64 * 9e-3 / 64)


def test_limits_hold_for_whole_jobs():
    study = of_gpt(job=JobPlan(start=3600.0))
    alone = estimate(study).job.parts.steps
    limit = Limit(deadline=alone + 1800.0)
    answer = estimate(replace(study, limit=limit))
    assert "the whole training is over the study's deadline" in answer.warnings
    with pytest.raises(NoPlanFits, match="its whole job counted"):
        search(replace(study, limit=limit), keep=1)


def test_whole_training_is_as_unsure_as_its_steps():
    found = estimate(of_gpt(job=JobPlan()))
    steps, rest = found.job.parts.steps, found.time_to_train - found.job.parts.steps
    for end, whole in (
        (found.step_time_low, found.time_to_train_low),
        (found.step_time_high, found.time_to_train_high),
    ):
        assert whole == pytest.approx(rest + steps * end / found.step_time, rel=1e-12)
    assert found.time_to_train_low < found.time_to_train < found.time_to_train_high
