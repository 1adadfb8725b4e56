"""scale: points, knee, what-ifs and the best number of nodes, as studies ask for them."""

from dataclasses import replace
from pathlib import Path

import pytest

from foretrain.distributions import Exponential, LogNormal, Pareto
from foretrain.errors import InputError
from foretrain.measured.scale_study import ScaleStudy
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    Aggregation,
    Servers,
    Training,
    Updates,
    Worker,
)
from foretrain.plan.startup import WholeJob
from foretrain.queueing.scale import scale
from foretrain.queueing.served import staleness
from foretrain.study.scale_study import read_scale_study

WORKER = Worker(
    compute=LogNormal(mean=0.2, deviation=0.1), samples=2.0, pulled=0.05, pushed=0.05, link=10.0
)
SERVED = Training(worker=WORKER, servers=Servers(link=1.0), updates=ASYNCHRONOUS)
EXAMPLE = Path(__file__).parents[2] / "examples" / "parameter-servers.toml"
STUDY = ScaleStudy(training=SERVED, workers=(1, 2, 4, 8, 16), steps=400)


def test_points_stand_beside_formula_and_bound():
    answer = scale(STUDY)
    assert [each.workers for each in answer.points] == [1, 2, 4, 8, 16]
    for each in answer.points:
        assert each.low <= each.throughput <= each.high
        assert each.throughput <= each.most * 1.05
        assert each.formula == pytest.approx(each.throughput, rel=0.05)
    assert answer.points[0].efficiency == 1
    assert answer.points[-1].efficiency < 0.6


def test_knee_is_where_the_asymptotes_cross():
    # 0.3 s alone, of which 0.05 at the busiest link: 6 workers, and 20 steps of 2 samples a second.
    found = scale(STUDY).knee
    assert found.workers == pytest.approx(6.0)
    assert found.throughput == pytest.approx(40.0)


def test_what_ifs_are_the_formula_of_the_changed_training_and_the_best_comes_first():
    answer = scale(STUDY)
    gains = [each.gain for each in answer.what_ifs]
    assert gains == sorted(gains, reverse=True)
    more = next(each for each in answer.what_ifs if each.change == "twice the servers")
    assert more.knee == pytest.approx((0.2 + 0.05) / 0.025)
    assert more.gain > 0.5


def test_staleness_of_asynchronous_workers_has_a_price_and_barriers_have_none():
    stale = replace(SERVED, waste=0.1)
    fresh = replace(STUDY, training=replace(stale, updates=SYNCHRONOUS))
    for each in scale(fresh).points:
        assert each.useful == each.throughput
    for each in scale(replace(STUDY, training=stale)).points:
        assert each.useful == pytest.approx(each.throughput / (1 + 0.1 * (each.workers - 1)))
    pairs = Training(worker=WORKER, aggregation=Aggregation.PAIRWISE, updates=ASYNCHRONOUS)
    assert (staleness(pairs, 1), staleness(pairs, 8)) == (0, 1)


def test_dear_staleness_makes_fewer_workers_learn_more():
    answer = scale(replace(STUDY, training=replace(SERVED, waste=0.2)))
    useful = [each.useful for each in answer.points]
    assert max(useful) > useful[-1]


def written(folder, text):
    path = folder / "scale.toml"
    path.write_text(text)
    return path


MODEL = """
[scale]
workers = [1, 2, 4]
steps = 40
{more}
[workload]
model = "resnet-50"
global_batch = {batch}
image = 224
precision = "fp16"
[cluster]
name = "dgx-a100"
nodes = 5
"""


def test_model_says_what_its_worker_does(tmp_path):
    text = MODEL.format(batch=512, more="") + "[plan]\nmicro_batch = 64\n"
    answer = scale(read_scale_study(written(tmp_path, text)))
    # 25.6 M parameters in two bytes out, gradients in four bytes back.
    assert answer.worker.pulled == pytest.approx(2 * 25_557_032)
    assert answer.worker.pushed == pytest.approx(4 * 25_557_032)
    assert answer.worker.samples == 512
    assert answer.points[-1].throughput < 4 * answer.points[0].throughput


def test_all_reduces_of_a_model_take_the_best_plan_on_every_number_of_nodes(tmp_path):
    text = MODEL.format(batch=1024, more='aggregation = "all-reduce"')
    answer = scale(read_scale_study(written(tmp_path, text)))
    assert all(each.variance is None for each in answer.points)
    assert answer.points[0].throughput < answer.points[1].throughput < answer.points[2].throughput
    assert all(each.low < each.throughput < each.high for each in answer.points)


def test_more_workers_than_nodes_are_refused(tmp_path):
    text = MODEL.format(batch=512, more="") + "[plan]\nmicro_batch = 64\n[servers]\ncount = 3\n"
    with pytest.raises(InputError, match="4 workers and 3 servers need 7 nodes"):
        scale(read_scale_study(written(tmp_path, text)))


def test_whole_job_ends_first_on_few_nodes_where_all_read_everything():
    study = read_scale_study(EXAMPLE)
    answer = scale(replace(study, steps=40, workers=(1, 32)))
    assert 1 < answer.best.nodes < 32
    assert answer.best.start < answer.best.seconds
    kinds = [each.kind for each in answer.best.findings]
    assert kinds[:3] == ["start-up", "best count", "server"]
    assert isinstance(study.job, WholeJob)


def test_mistakes_in_a_model_are_told_by_their_keys(tmp_path):
    text = MODEL.format(batch=512, more="").replace("image", "imag")
    with pytest.raises(InputError, match=r"workload\.imag: unknown key"):
        read_scale_study(written(tmp_path, text))


def whole(**changes):
    """The example's whole job, with something changed of it, of its training or of the study."""
    study = replace(read_scale_study(EXAMPLE), steps=40, workers=(3, 16))
    of_job = {key: changes.pop(key) for key in ("data", "cores", "held") if key in changes}
    of_training = {key: changes.pop(key) for key in ("updates", "waste") if key in changes}
    training = replace(study.training, **of_training)
    return replace(study, job=replace(study.job, **of_job), training=training, **changes)


def test_input_that_is_prepared_slowly_holds_a_job_back():
    data = replace(whole().job.data, prepare=1.0)
    quick, slow = scale(whole()).best, scale(whole(data=data, cores=1)).best
    assert slow.seconds > 10 * quick.seconds


def test_staleness_has_its_price_in_a_whole_job_too():
    cheap, dear = scale(whole(waste=0.0)).best, scale(whole(waste=0.5)).best
    assert dear.nodes < cheap.nodes
    assert dear.seconds > cheap.seconds


def test_whole_job_with_backup_workers_needs_more_nodes_than_those():
    assert scale(whole(updates=Updates(backup=2))).best.nodes > 2


def test_nothing_exceeds_its_bound_where_the_slowest_are_left_behind():
    step = replace(WORKER, compute=Pareto(mean=0.2, shape=1.2), pulled=1e-5, pushed=1e-5)
    training = replace(SERVED, worker=step, updates=Updates(backup=5))
    (point,) = scale(replace(STUDY, training=training, workers=(20,))).points
    assert point.formula is None
    assert point.throughput <= point.most * 1.05


def test_pairs_that_wait_for_all_have_no_formula():
    pairs = Training(worker=WORKER, aggregation=Aggregation.PAIRWISE)
    assert all(each.formula is None for each in scale(replace(STUDY, training=pairs)).points)


def test_larger_batches_do_not_take_the_slowest_away():
    step = replace(WORKER, compute=Exponential(mean=0.2), pulled=1e-6, pushed=1e-6)
    training = replace(SERVED, worker=step, updates=SYNCHRONOUS)
    found = scale(replace(STUDY, training=training)).what_ifs
    batch = next(each for each in found if each.change == "twice the batch of a worker")
    assert batch.gain == pytest.approx(0.0, abs=0.01)


def test_limit_is_what_takes_the_time_beside_computing():
    step = replace(WORKER, compute=Exponential(mean=0.2))
    ring = Training(worker=replace(step, pushed=1e-6), aggregation=Aggregation.ALL_REDUCE)
    limits = [each.limit for each in scale(replace(STUDY, training=ring)).points]
    assert (limits[0], limits[-1]) == ("computing", "waiting for the slowest")
    slow = Training(worker=replace(step, pushed=5.0), aggregation=Aggregation.ALL_REDUCE)
    assert scale(replace(STUDY, training=slow)).points[-1].limit == "workers' links"


def test_more_steps_than_can_be_simulated_are_refused():
    with pytest.raises(InputError, match="more than 10,000,000"):
        replace(STUDY, workers=(10**6,))
