"""Alternatives: the middle lies among those that could have run, and what cannot run is none."""

from dataclasses import replace
from math import exp, isclose, log, sqrt

import pytest

from foretrain.errors import InputError
from foretrain.plan.plan import Plan, Recompute
from foretrain.step.alternatives import NOTICED, in_the_middle, weigh
from foretrain.step.estimate import estimate
from foretrain.step.price import price_plan
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from
from foretrain.trainers.variants import Variant, variants
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

CLUSTER = cluster("dgx-h100", nodes=1)
KNOWN = Variant(
    workload=Workload(model=build("llama-3-8b", sequence=4096), global_batch=64),
    plans=(Plan(data=1, tensor=8),),
)
KERNELS = (("attention", (("plain", 0.25), ("flash-2", 0.75))),)
RECOMPUTE = (("recompute", (("none", 0.5), ("full", 0.5))),)


def found(opened, known=KNOWN, where=CLUSTER):
    return weigh(variants(known, opened), where, DEFAULT)


def with_memory(bytes_):
    return replace(CLUSTER, device=replace(CLUSTER.device, memory=bytes_))


def test_the_middle_is_weighted_in_logarithms():
    told = found(KERNELS)
    by_kernel = {
        dict(each.variant.values)["attention"]: each.rung.likely for each in told.candidates
    }
    middle = exp(0.25 * log(by_kernel["plain"]) + 0.75 * log(by_kernel["flash-2"]))
    assert isclose(told.ratio * told.likeliest.rung.likely, middle)
    assert by_kernel["flash-2"] < middle < by_kernel["plain"]
    assert told.decides == "attention"
    # Variances add up: each side has its own, of one candidate here (sources of `statistics`).
    ends = {name: log(seconds / middle) for name, seconds in by_kernel.items()}
    deviations = 1.2815515655446004 * sqrt(2.0)
    low, high = sorted(told.choices)
    assert isclose(log(low / middle), deviations * sqrt(0.75) * ends["flash-2"])
    assert isclose(log(high / middle), deviations * sqrt(0.25) * ends["plain"])


def test_what_does_not_fit_is_no_candidate_while_something_does():
    both = found(RECOMPUTE)
    assert {each.rung.plan.recompute for each in both.candidates} == {*Recompute} - {
        Recompute.SELECTIVE
    }
    tight = found(RECOMPUTE, replace(KNOWN, plans=(Plan(data=2, tensor=4, micro_batch=8),)))
    [left] = tight.candidates
    assert left.rung.plan.recompute is Recompute.FULL
    assert left.variant.weight == 1.0


def test_of_variants_none_of_which_fits_all_count():
    told = found(KERNELS, where=with_memory(1e9))
    assert len(told.candidates) == 2
    assert not told.likeliest.fits


def test_what_is_illegal_is_no_candidate():
    lone = replace(KNOWN, plans=(Plan(data=8, tensor=3),))
    assert found(KERNELS, lone) is None
    told = weigh(
        variants(KNOWN, RECOMPUTE),
        CLUSTER,
        DEFAULT,
        against=lambda plan: ["no"] * (plan.recompute is Recompute.FULL),
    )
    assert [each.rung.plan.recompute for each in told.candidates] == [Recompute.NONE]
    assert (told.ratio, told.decides) == (1.0, None)


def test_the_interval_spans_what_may_be_meant_and_parts_add_up():
    told = found(KERNELS)
    likely = told.likeliest
    alone = price_plan(likely.setting, likely.rung.plan, played=False)
    moved = in_the_middle(alone, told, DEFAULT)
    assert moved.step_time == moved.parts.total
    assert isclose(moved.step_time, told.ratio * alone.step_time)
    assert moved.step_time_low < min(told.choices)
    assert max(told.choices) < moved.step_time_high
    assert isclose(moved.mfu * moved.step_time, alone.mfu * alone.step_time)
    assert log(max(told.choices) / min(told.choices)) > NOTICED


STUDY = {
    "workload": {
        "model": "llama-3-8b",
        "global_batch": 64,
        "sequence": 4096,
        "amount": "1 T tokens",
    },
    "cluster": {"name": "dgx-h100", "nodes": 2},
    "plan": {"micro_batch": 1, "tensor": 2, "recompute": "none", "sharding": "optimizer"},
}


def estimated(name=None, options=None, **plan):
    section = {"trainer": {"name": name, "options": options or {}}} if name else {}
    return estimate(study_from({**STUDY, **section, "plan": STUDY["plan"] | plan}, "x"))


def test_a_study_without_a_trainer_has_nothing_open():
    assert estimated().decides is None


def test_what_a_study_says_is_not_open():
    left = estimated("megatron-deepspeed")
    said = estimated("megatron-deepspeed", {"attention": "flash-2"})
    assert left.decides == "attention"
    assert said.decides != "attention"
    assert said.step_time < left.step_time
    assert said.step_time_high - said.step_time_low < left.step_time_high - left.step_time_low
    assert left.time_to_train > said.time_to_train


def test_a_plan_of_which_nothing_is_left_open_is_run_as_it_says():
    plan = estimated("torchtitan", sharding="parameters", sequence_parallel=True).plan
    assert (plan.recompute, plan.sequence_parallel) == (Recompute.NONE, True)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("torchtitan", {"sharding": "optimizer"}, "has no sharding 'optimizer'"),
        ("deepspeed", {"pipeline": 2, "sharding": "parameters"}, "cannot have plan.pipeline"),
        ("ddp", {}, "has no tensor axis"),
        ("torchtitn", {}, "Did you mean 'torchtitan'"),
    ],
)
def test_a_plan_that_the_trainer_cannot_run_is_refused(name, change, said):
    with pytest.raises(InputError, match=said):
        estimated(name, **change)
