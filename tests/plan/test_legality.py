"""Legality: each rule speaks where it is broken, names its key and stays silent otherwise."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.offer import Offer, whole
from foretrain.errors import InputError
from foretrain.plan.legality import (
    device_problems,
    precision_problems,
    problems,
    search_problems,
    workload_problems,
)
from foretrain.plan.plan import (
    SAID,
    ChannelSplit,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sharding,
)
from foretrain.plan.study import Limit, Objective, Space
from foretrain.study.catalogue import cluster
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
        {"schedule": Schedule.GPIPE},
        "plan.interleaving: the schedule gpipe has one chunk per stage.",
    ),
    ({"shard": 3}, "plan.shard: 3 devices cannot share one copy among 8 replicas"),
    ({"shard": 1}, "plan.shard: 1 devices cannot share one copy among 8 replicas"),
    (
        {"recompute": Recompute.FULL, "recompute_layers": 81},
        "plan.recompute_layers: llama-3-70b has 80 layers, fewer than 81.",
    ),
    (
        {"recompute": Recompute.SELECTIVE, "recompute_layers": 4},
        "plan.recompute_layers: counts layers of plan.recompute = 'full' only.",
    ),
    (
        {"context": 3},
        "plan.context: 3 members, two blocks of tokens each, do not divide the 8192 tokens",
    ),
    (
        {"context": 2, "attention": Attention.PLAIN},
        "plan.exchange: a ring needs plan.attention = 'flash'",
    ),
    (
        {"context": 2, "exchange": ContextExchange.ALL_TO_ALL},
        "plan.exchange: plan.tensor x plan.context = 16 cannot share the 8 key-value heads",
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


MIXTURE = Workload(model=build("mixtral-8x7b", sequence=4096), global_batch=1024)
FOLDED = Plan(data=64, tensor=8, sequence_parallel=True, expert=8)

WRONG_EXPERTS = [
    ({"expert": 3}, "plan.expert: 3 does not divide the 8 experts of mixtral-8x7b."),
    ({"expert_tensor": 4}, "plan.expert_tensor: 4 is neither 1 nor plan.tensor (8)."),
    ({"sequence_parallel": False}, "plan.sequence_parallel: must be true where plan.tensor is"),
    (
        {"data": 1, "pipeline": 64, "tensor": 8, "expert_tensor": 8},
        "plan.expert: plan.expert x plan.expert_tensor = 64 does not divide the 8 devices of",
    ),
]


def test_experts_fold_over_tensor_context_and_data():
    assert problems(MIXTURE, DGX, FOLDED) == []
    assert problems(MIXTURE, DGX, replace(FOLDED, expert_tensor=8)) == []
    alike = replace(FOLDED, expert=1, expert_tensor=8, sequence_parallel=False)
    assert problems(MIXTURE, DGX, alike) == []


def test_shard_and_devices_that_hold_the_same_experts_divide_one_another():
    plan = Plan(data=12, tensor=2, sequence_parallel=True, expert=8, sharding=Sharding.OPTIMIZER)
    told = "plan.shard: 2 devices cannot share one copy among the 3 that hold the same experts"
    found = [problems(MIXTURE, DGX, replace(plan, shard=shard)) for shard in (2, 3, 6)]
    assert [any(told in text for text in texts) for texts in found] == [True, False, False]


def test_devices_that_share_a_tensor_of_an_expert_hold_no_expert_twice():
    """Of 48 devices 8 hold experts and two divide each: three hold the same."""
    plan = Plan(
        data=24,
        tensor=2,
        sequence_parallel=True,
        expert=8,
        expert_tensor=2,
        sharding=Sharding.OPTIMIZER,
    )
    told = "plan.shard: 2 devices cannot share one copy among the 3 that hold the same experts"
    found = [problems(MIXTURE, DGX, replace(plan, shard=shard)) for shard in (2, 3, 6)]
    assert [any(told in text for text in texts) for texts in found] == [True, False, False]


def test_of_a_model_without_experts_nobody_is_said_to_hold_the_same():
    plan = Plan(data=12, tensor=2, sequence_parallel=True, expert=8, shard=2)
    found = problems(LLAMA, DGX, plan)
    assert any(text.startswith("plan.expert: ") for text in found)
    assert not any("hold the same experts" in text for text in found)


@pytest.mark.parametrize(("change", "message"), WRONG_EXPERTS)
def test_experts_that_do_not_fold_are_told(change, message):
    found = problems(MIXTURE, DGX, replace(FOLDED, **change))
    assert any(text.startswith(message) for text in found), found


def test_what_a_model_lacks_cannot_be_divided():
    images = Workload(model=build("resnet-50", image=224), global_batch=512)
    [found] = problems(images, DGX, Plan(data=256, context=2))
    assert found == (
        "plan.grid: say how plan.context = 2 devices share a picture of resnet-50, such as "
        "plan.grid = [2, 1]."
    )
    sound = Workload(model=build("deep-speech-2", sequence=600), global_batch=512)
    [found] = problems(sound, DGX, Plan(data=256, tensor=2))
    assert found == "plan.tensor: recurrent layers have no tensor axis; leave plan.tensor out."
    assert problems(LLAMA, DGX, replace(GOOD, expert=2))[0].startswith(
        "plan.expert: llama-3-70b has no experts."
    )


def test_uneven_stages_need_another_cut():
    seven = replace(LLAMA, model=build("llama-3-8b", sequence=8192))
    plan = Plan(data=12, tensor=8, pipeline=5)
    dgx, seven = cluster("dgx-h100", nodes=60), replace(seven, global_batch=1200)
    [found] = problems(seven, dgx, plan)
    assert found.endswith("Or write plan.cut = 'balanced'.")
    assert problems(seven, dgx, replace(plan, cut="balanced")) == []
    assert problems(seven, dgx, replace(plan, cut=(6, 7, 7, 7, 5))) == []
    [found] = problems(seven, dgx, replace(plan, cut=(6, 7, 7, 7, 6)))
    assert found.startswith("plan.cut: 5 numbers that add up to 33; 5 chunks of the 32 layers")


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


IMAGES = Workload(model=build("resnet-50", image=224), global_batch=512)
FRONT = "Take {}, or end the {} front before it: plan.split."


@pytest.mark.parametrize(
    "plan",
    [
        Plan(data=512),
        Plan(data=8, tensor=64),
        Plan(data=8, tensor=64, convolutions=ChannelSplit.CHANNEL),
        Plan(data=128, context=4, grid=(2, 2)),
        Plan(data=32, context=16, grid=(4, 4)),
        Plan(data=8, context=64, grid=(8, 8), split=14),
    ],
    ids=str,
)
def test_pictures_and_convolutions_are_divided_as_far_as_they_go(plan):
    assert problems(IMAGES, DGX, plan) == []


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (
            Plan(data=4, tensor=128),
            "plan.tensor: 128 devices cannot share the 64 filters of 'stem' of layer 'stem' of "
            "resnet-50. Take fewer, or end the divided front before it: plan.split.",
        ),
        (
            Plan(data=4, tensor=128, convolutions=ChannelSplit.CHANNEL),
            "plan.tensor: 128 devices cannot share the 64 channels of 'reduce' of layer 'group 2 "
            "first' of resnet-50. Take fewer, or end the divided front before it: plan.split.",
        ),
        (
            Plan(data=64, context=8, grid=(8, 1)),
            "plan.grid: 8 devices cannot share the 7 pixels along dimension 1 of 'convolve' of "
            "layer 'group 5 first' of resnet-50. Take at most 7, or end the shared front before "
            "it: plan.split.",
        ),
        (
            Plan(data=64, context=8, grid=(2, 2, 2)),
            "plan.grid: [2, 2, 2] has 3 numbers; pictures of resnet-50 have 2 dimensions.",
        ),
        (
            Plan(data=128, context=4, grid=(2, 2), split=3),
            "plan.split: the front of resnet-50 cannot end after 3 layers, but after 1, 2, 4, 5, "
            "8, 9, 14, 15, 17, 18; 0 is as far as it goes.",
        ),
    ],
    ids=["filters", "channels", "pixels", "dimensions", "front"],
)
def test_what_cannot_be_divided_further_is_told_with_its_layer(plan, told):
    assert problems(IMAGES, DGX, plan) == [told]


def test_samples_that_are_no_pictures_have_no_grid():
    [found] = problems(LLAMA, DGX, replace(GOOD, context=2, grid=(2,), data=GOOD.data // 2))
    assert found == (
        "plan.grid: samples of llama-3-70b are no pictures whose pixels could be shared."
    )


def test_device_that_lacks_the_precision_is_told_with_those_it_has():
    dgx_1 = cluster("dgx-1-v100", nodes=1)
    [found] = precision_problems(LLAMA, dgx_1)
    assert found == (
        "workload.precision: v100-sxm2-16gb does not compute in bf16. It knows fp32, fp16."
    )
    assert precision_problems(replace(LLAMA, precision=Precision.FP16), dgx_1) == []


def test_free_fields_are_no_problem():
    assert device_problems([whole(DGX)], Space()) == workload_problems(LLAMA, Space()) == []


def test_fixed_fields_of_a_space_are_judged_without_the_free_ones():
    assert device_problems([whole(DGX)], Space(tensor=(8,), data=(3,)))[0].startswith(
        "plan.data x plan.tensor: 3 x 8 = 24 does not divide the cluster's 512 devices."
    )
    assert workload_problems(LLAMA, Space(interleaving=(7,), cut=("even",)))[0].startswith(
        "plan.interleaving: "
    )
    assert workload_problems(LLAMA, Space(pipeline=(99,)))[0].startswith("plan.pipeline: 99 stages")
    # Three stages of seven chunks have four layers each, but for the first and the last chunk.
    assert workload_problems(LLAMA, Space(interleaving=(7,))) == []


def test_degree_is_told_the_nearest_that_divide_one_number_of_devices_but_not_several():
    [alone] = device_problems([whole(DGX)], Space(tensor=(3,)))
    assert alone == (
        "plan.tensor: 3 does not divide the cluster's 512 devices. Nearest that do: 2 and 4."
    )
    some = Offer(cluster=cluster("dgx-a100", nodes=4), nodes=(1, 2, 4))
    [several] = device_problems([some], Space(tensor=(3,)))
    assert several == "plan.tensor: 3 does not divide the cluster's 8, 16 or 32 devices."
    many = Offer(cluster=cluster("dgx-a100", nodes=64), nodes=(1, 2, 4, 8, 16, 32, 64))
    [ends] = device_problems([many], Space(tensor=(3,)))
    assert ends.endswith("the cluster's 8 to 512 (one of 7 numbers) devices.")


def test_plan_must_suit_some_number_of_nodes_that_may_be_rented():
    offer = Offer(cluster=cluster("dgx-a100", nodes=4), nodes=(2, 3, 4))
    every = Space(data=(3,), tensor=(8,), pipeline=(1,), context=(1,))
    assert device_problems([offer], every) == []
    assert device_problems([offer], replace(every, data=(5,))) == [
        "plan.data x plan.tensor x plan.pipeline: 5 x 8 x 1 is 40 devices; the cluster has 16, 24 "
        "or 32."
    ]


@pytest.mark.parametrize("objective", [Objective.COST, Objective.ENERGY])
def test_offer_that_lacks_what_an_objective_needs_is_told_by_name(objective):
    asked = {"objective": objective, "limit": Limit()}
    bare = replace(DGX, name="bare", price=None, node_power=None)
    assert search_problems(LLAMA, [whole(DGX)], **asked) == []
    [alone] = search_problems(LLAMA, [whole(bare)], **asked)
    [beside] = search_problems(LLAMA, [whole(DGX), whole(bare)], **asked)
    assert beside == f"{alone} bare has none."


def test_host_that_an_offer_lacks_is_told_by_name():
    bare = replace(DGX, name="bare", host=None)
    [told] = device_problems([whole(DGX), whole(bare)], Space(offload=(Offload.BOTH,)))
    assert told.startswith("plan.offload: both needs a host: ")
    assert told.endswith(" bare has none.")


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
    context=st.sampled_from([1, 1, 2, 3]),
    exchange=st.sampled_from(ContextExchange),
    expert=st.sampled_from([1, 1, 1, 2]),
    sharding=st.sampled_from(Sharding),
    shard=st.sampled_from([0, 0, 2, 3]),
    recompute=st.sampled_from(Recompute),
    recompute_layers=st.sampled_from([0, 0, 1, 99]),
    offload=st.sampled_from(Offload),
    schedule=st.sampled_from(Schedule),
    cut=st.sampled_from(["even", "balanced", (40, 40)]),
)


@given(plan=plans)
def test_space_of_one_plan_is_judged_as_the_plan(plan):
    space = Space(**{name: (getattr(plan, name),) for name in SAID})
    alone = problems(LLAMA, DGX, plan)
    assert alone == [*device_problems([whole(DGX)], space), *workload_problems(LLAMA, space)]


@given(plan=plans, freed=st.sampled_from(["data", "tensor", "pipeline", "micro_batch"]))
def test_legal_plan_stays_legal_when_a_field_is_freed(plan, freed):
    if problems(LLAMA, DGX, plan):
        return
    known = {name: (getattr(plan, name),) for name in SAID}
    space = Space(**{**known, freed: None})
    assert device_problems([whole(DGX)], space) + workload_problems(LLAMA, space) == []
