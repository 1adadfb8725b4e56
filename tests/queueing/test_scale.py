"""scale: points, knee, what-ifs and the best number of nodes, as studies ask for them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.examples import slow

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
from foretrain.plan.startup import Access, WholeJob
from foretrain.queueing.barriers import barrier
from foretrain.queueing.closed import mean_values
from foretrain.queueing.closed_form import (
    by_formula,
    closed_network,
    steps_by_formula,
    synchronous_rate,
)
from foretrain.queueing.divisible import divisible_layers
from foretrain.queueing.provision import provision
from foretrain.queueing.replicas import ReplicatedTraining
from foretrain.queueing.report import scale_report
from foretrain.queueing.scale import scale
from foretrain.queueing.segments import Machine, memory_slowdown
from foretrain.queueing.served import staleness
from foretrain.study.coefficients import DEFAULT
from foretrain.study.scale_study import read_scale_study
from foretrain.workload.library.entries import build

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


PLAN = "[plan]\nmicro_batch = 64\n"


def test_model_says_what_its_worker_does(tmp_path):
    text = MODEL.format(batch=512, more="") + PLAN
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


def all_reduced(folder, more="", workers="[1, 2]"):
    """The answer for a model's all-reduces."""
    text = MODEL.format(batch=1024, more=f'aggregation = "all-reduce"\n{more}')
    return scale(read_scale_study(written(folder, text.replace("[1, 2, 4]", workers))))


def test_every_step_of_a_model_waits_for_the_slowest_of_its_stragglers(tmp_path):
    same = all_reduced(tmp_path, "stragglers = { samples = ['1 s'] }")
    law = Exponential(mean=1.0, least=0.5)
    late = all_reduced(tmp_path, "stragglers = { least = '50 %', law = 'exponential' }")
    # One alone waits for nobody; the slower of two exponential values has mean 1.5 times theirs.
    assert late.points[0] == same.points[0]
    waited = late.points[1].step - same.points[1].step
    computing = waited / (barrier(law, workers=2).mean - 1.0)
    assert barrier(law, workers=2).mean == pytest.approx(1.25)
    assert 0.5 * same.points[1].step < computing < same.points[1].step
    assert late.points[1].throughput == pytest.approx(2 * 1024 / late.points[1].step, rel=1e-6)


def test_more_straggling_never_makes_a_model_quicker_whatever_the_law(tmp_path):
    laws = (
        "deviation = '{} %'",
        "deviation = '{} %', law = 'lognormal'",
        "least = '9{} %', law = 'exponential'",
    )
    for law in laws:
        few, many = (1, 30) if "deviation" in law else (9, 0)
        steps = [
            all_reduced(tmp_path, f"stragglers = {{ {law.format(amount)} }}").points[1].step
            for amount in (few, many)
        ]
        assert steps[0] < steps[1]


def test_answers_of_plans_never_say_that_they_were_simulated(tmp_path):
    answer = all_reduced(tmp_path)
    assert (answer.method, answer.worker, answer.servers) == ("planned", None, None)
    study = read_scale_study(tmp_path / "scale.toml")
    told = repr(scale_report(study, answer))
    assert "simulated" not in told
    assert "estimated" in told
    assert "simulated" in repr(scale_report(STUDY, scale(STUDY)))


def test_stragglers_are_the_computing_of_a_models_workers_too(tmp_path):
    plain, heavy = (
        scale(read_scale_study(written(tmp_path, MODEL.format(batch=512, more=more) + PLAN)))
        for more in ("", "stragglers = { shape = 2.5, law = 'pareto' }")
    )
    assert heavy.points[-1].throughput < 0.9 * plain.points[-1].throughput
    assert heavy.worker.pulled == plain.worker.pulled


def test_a_model_whose_devices_never_straggle_is_priced_too(tmp_path):
    even = replace(DEFAULT, picture_steps=replace(DEFAULT.picture_steps, straggling=0.0))
    study = read_scale_study(written(tmp_path, MODEL.format(batch=512, more="") + PLAN))
    assert scale(study, coefficients=even).points[0].throughput > 0


START = """
[start]
samples = 1281167
sample_bytes = "110 kB"
read = "1 GB/s"
total_read = "2 GB/s"
access = "{}"
"""


def test_a_broadcast_of_a_models_job_goes_over_the_links_that_an_estimate_says(tmp_path):
    model = MODEL.format(batch=512, more="") + PLAN
    found = {
        access: scale(read_scale_study(written(tmp_path, model + START.format(access))))
        for access in ("broadcast", "unsharded")
    }
    quick, all_read = found["broadcast"].best, found["unsharded"].best
    size = 1281167 * 110e3
    assert found["broadcast"].worker.link > 1e9
    assert quick.start == pytest.approx(size / 1e9, rel=1e-3)
    assert all_read.start >= quick.start
    assert "broadcast the input" in [each.subject for each in all_read.findings]


def test_more_workers_than_nodes_are_refused(tmp_path):
    text = MODEL.format(batch=512, more="") + PLAN + "[servers]\ncount = 3\n"
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


def test_whole_jobs_are_of_servers_on_nodes_of_their_own():
    ring = Training(worker=WORKER, aggregation=Aggregation.ALL_REDUCE)
    for training in (ring, replace(SERVED, servers=Servers(colocated=True))):
        with pytest.raises(InputError, match="servers on nodes of their own"):
            replace(whole(), training=training)


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


@pytest.mark.parametrize(
    "updates", [SYNCHRONOUS, ASYNCHRONOUS, Updates(stale=4), Updates(backup=2)]
)
@pytest.mark.parametrize("count", [1, 4])
def test_steps_between_those_worked_out_lie_near_what_they_would_be(updates, count):
    training = replace(SERVED, servers=Servers(link=1.0, count=count), updates=updates)
    whole = dict(zip(*(each.tolist() for each in steps_by_formula(training, 300)), strict=True))
    assert len(whole) < 150
    for workers in (70, 101, 200, 299):
        if updates.stale is None:
            step = workers / mean_values(closed_network(training), workers).throughput[-1]
        elif updates == SYNCHRONOUS:
            step = workers / synchronous_rate(training, workers, exact=0)
        else:
            counted = workers - updates.backup
            step = counted * WORKER.samples / by_formula(training, workers).high
        found = np.interp(workers, [*whole], [*whole.values()])
        assert found == pytest.approx(step, rel=1e-3)


def test_asynchronous_workers_far_beyond_the_knee_wait_for_the_bottleneck():
    # Two links are equally busy, so throughput comes near its capacity no faster than 1 / n.
    counts, seconds = steps_by_formula(SERVED, 2000)
    assert len(counts) < 100
    exact = 2000 / mean_values(closed_network(SERVED), 2000).throughput[-1]
    assert seconds[-1] == pytest.approx(exact, rel=1e-3)


@slow
def test_searches_of_thousands_of_nodes_work_out_few_of_them():
    told = []
    study = whole(updates=SYNCHRONOUS)
    job = replace(study.job, start=replace(study.job.start, access=Access.SHARDED))
    study = replace(study, job=job, workers=(1, 5000))
    scale(study, progress=lambda what, done, total: told.append((what, done, total)))
    jobs = [each for each in told if each[0] == "whole job"]
    assert len(jobs) == jobs[-1][1] == jobs[-1][2] < 700


def test_progress_is_told_of_every_number_of_workers_and_while_one_is_simulated():
    told = []
    study = replace(STUDY, workers=(1, 3, 60))
    scale(study, progress=lambda *each: told.append(each))
    assert {each[0] for each in told} == {"workers"}
    done = [each[1] for each in told]
    assert done == sorted(done)
    assert {0, 1, 4, 64} <= set(done)
    assert any(4 < each < 64 for each in done)
    assert {each[2] for each in told} == {64}


PROVISION = """
[scale]
workers = [2, 5, 20]
waste = "{waste}"
[provision]
model = "alexnet"
image = 224
samples = 1281167
chunk = 4096
cores = 16
memory_share = "15 %"
multiply_add = "0.25 ns"
activation = "1 ns"
error = "1 ns"
memory = "64 GB"
link = "10 Gb/s"
latency = "50 us"
"""


def test_machines_are_shared_out_as_the_optimizer_does(tmp_path):
    study = read_scale_study(written(tmp_path, PROVISION.format(waste="1 %")))
    answer = scale(study)
    layers = divisible_layers(build("alexnet", image=224))
    machine = Machine(
        slowdown=memory_slowdown(0.15, cores=16),
        multiply_add=2.5e-10,
        activation=1e-9,
        error=1e-9,
        memory=64e9,
        link=1.25e9,
        latency=5e-5,
    )
    weights = sum(each.weights for each in layers)
    training = ReplicatedTraining(samples=1281167, chunk=4096, weights=weights, waste=0.01)
    best = provision(layers, machine, training, machines=20).best
    (first, *_), last = answer.provisions, answer.points[-1]
    assert (first.segments, first.threads) == (best.replica.segments, best.replica.threads)
    assert (first.replicas, first.servers) == (best.replicas, best.servers)
    assert first.epoch == float(best.time.total)
    assert last.useful == pytest.approx(1281167 / first.epoch)
    assert last.throughput == pytest.approx(last.useful * (1 + 0.01 * (first.replicas - 1)))
    assert (answer.method, answer.worker, answer.knee) == ("provisioned", None, None)
    assert [each.workers for each in answer.points] == [2, 5, 20]


def test_more_machines_and_less_waste_never_train_less(tmp_path):
    rates = []
    for waste in ("0 %", "1 %", "5 %"):
        study = read_scale_study(written(tmp_path, PROVISION.format(waste=waste)))
        useful = [each.useful for each in scale(study).points]
        assert useful == sorted(useful)
        rates.append(useful)
    for dear, cheap in zip(rates[1:], rates, strict=False):
        assert all(less <= more for less, more in zip(dear, cheap, strict=True))


def test_a_report_of_machines_speaks_of_machines(tmp_path):
    study = read_scale_study(written(tmp_path, PROVISION.format(waste="1 %")))
    told = repr(scale_report(study, scale(study)))
    assert "simulated" not in told
    assert "Throughput of 2 machines to 20 machines" in told
    assert "The quickest on 20 machines" in told
