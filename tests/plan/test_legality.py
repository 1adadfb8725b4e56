"""Legality: each rule speaks where it is broken, names its key and stays silent otherwise."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.files.catalogue import cluster
from foretrain.plan.legality import (
    device_problems,
    precision_problems,
    problems,
    workload_problems,
)
from foretrain.plan.plan import Plan
from foretrain.plan.space import Space
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Precision, Workload

LLAMA = Workload(model=build("llama-3-70b", sequence=8192), global_batch=1024)
DGX = cluster("dgx-h100", nodes=64)
GOOD = Plan(data=8, tensor=8, pipeline=8, interleaving=2, micro_batch=1, sequence_parallel=True)

BROKEN = [
    ({"data": 4}, "plan.data x plan.tensor x plan.pipeline: 4 x 8 x 8 is 256 devices"),
    ({"data": 7}, "plan.data: 7 replicas do not divide the 1024 samples of workload.global_batch."),
    (
        {"micro_batch": 3},
        "plan.micro_batch: 3 does not divide the 128 samples of a replica "
        "(workload.global_batch is 1024). Nearest that do: 2 and 4.",
    ),
    ({"tensor": 16}, "plan.tensor: 16 cannot split 8 key-value heads of llama-3-70b evenly."),
    ({"pipeline": 7}, "plan.pipeline: 7 stages do not divide the 80 layers of llama-3-70b."),
    ({"interleaving": 3}, "plan.interleaving: 8 stages x 3 chunks do not divide the 80 layers"),
    (
        {"pipeline": 1, "data": 64},
        "plan.interleaving: 2 chunks need plan.pipeline of at least 2.",
    ),
    (
        {"micro_batch": 32},
        "plan.interleaving: 4 micro-batches (workload.global_batch / (plan.data x "
        "plan.micro_batch)) are no multiple of the 8 stages",
    ),
]


def test_good_plan_has_no_problem():
    assert problems(LLAMA, DGX, GOOD) == []


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_broken_rule_names_its_key(change, message):
    found = problems(LLAMA, DGX, replace(GOOD, **change))
    assert any(text.startswith(message) for text in found), found


def test_all_broken_rules_speak_at_once():
    found = problems(LLAMA, DGX, Plan(data=3, tensor=5, pipeline=7, micro_batch=11))
    assert [text.partition(":")[0] for text in found] == [
        "plan.data x plan.tensor x plan.pipeline",
        "plan.data",
        "plan.micro_batch",
        "plan.tensor",
        "plan.pipeline",
    ]


def test_tokens_that_the_tensor_axis_cannot_divide_matter_to_sequence_parallelism_alone():
    odd = replace(LLAMA, model=build("llama-3-70b", sequence=8191))
    assert problems(odd, DGX, replace(GOOD, sequence_parallel=False)) == []
    [found] = problems(odd, DGX, GOOD)
    assert found.startswith("plan.sequence_parallel: plan.tensor 8 does not divide the 8191 tokens")


def test_convolutions_are_not_split():
    images = Workload(model=build("resnet-50", image=224), global_batch=512)
    assert "convolutions" in problems(images, DGX, Plan(data=256, tensor=2))[0]
    assert problems(images, DGX, Plan(data=512)) == []


def test_device_that_lacks_the_precision_is_told_with_those_it_has():
    dgx_1 = cluster("dgx-1-v100", nodes=1)
    [found] = precision_problems(LLAMA, dgx_1)
    assert found == (
        "workload.precision: v100-sxm2-16gb does not compute in bf16. It knows fp32, fp16."
    )
    assert precision_problems(replace(LLAMA, precision=Precision.FP16), dgx_1) == []


def test_free_fields_are_no_problem():
    assert device_problems(DGX, Space()) == workload_problems(LLAMA, Space()) == []


def test_fixed_fields_of_a_space_are_judged_without_the_free_ones():
    assert device_problems(DGX, Space(tensor=(8,), data=(3,)))[0].startswith(
        "plan.data x plan.tensor: 3 x 8 = 24 does not divide the cluster's 512 devices."
    )
    assert workload_problems(LLAMA, Space(interleaving=(7,)))[0].startswith("plan.interleaving: ")


def test_choices_of_which_none_can_run_are_told_together():
    [found] = workload_problems(LLAMA, Space(tensor=(5, 7)))
    assert found.startswith("plan.tensor: none of 5, 7 can run. 5 cannot split ")
    assert workload_problems(LLAMA, Space(tensor=(5, 8))) == []


def test_degree_below_one_is_refused():
    with pytest.raises(InputError, match=r"plan\.tensor must be at least 1, got 0"):
        workload_problems(LLAMA, Space(tensor=(0,)))


degrees = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 10, 16, 64, 512])
plans = st.builds(
    Plan,
    data=degrees,
    tensor=degrees,
    pipeline=degrees,
    interleaving=degrees,
    micro_batch=degrees,
    sequence_parallel=st.booleans(),
    attention=st.sampled_from(Attention),
)


@given(plan=plans)
def test_space_of_one_plan_is_judged_as_the_plan(plan):
    space = Space(**{field.name: (getattr(plan, field.name),) for field in fields(Plan)})
    alone = problems(LLAMA, DGX, plan)
    assert alone == [*device_problems(DGX, space), *workload_problems(LLAMA, space)]


@given(plan=plans, freed=st.sampled_from(["data", "tensor", "pipeline", "micro_batch"]))
def test_legal_plan_stays_legal_when_a_field_is_freed(plan, freed):
    if problems(LLAMA, DGX, plan):
        return
    known = {field.name: (getattr(plan, field.name),) for field in fields(Plan)}
    space = Space(**{**known, freed: None})
    assert device_problems(DGX, space) + workload_problems(LLAMA, space) == []
