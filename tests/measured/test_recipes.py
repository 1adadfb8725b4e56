"""Recipes: what a trainer does by its own habits, read from what a row states."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, RESNET, case, unset

from foretrain.measured.run import SoftwareStack
from foretrain.plan.plan import Offload, Recompute
from foretrain.workload.gradients import CODECS, FP32

BRIDGE = replace(
    GPT,
    framework="Megatron-Bridge (Megatron-Core)",
    date="2026-04",
    precision="bf16",
    place=replace(GPT.place, device="GB200", node_devices=4),
)


def of_model(name, *, device="GB200", dispatch="dropless", container="26.04", precision="bf16"):
    return replace(
        BRIDGE,
        network=replace(GPT.network, name=name),
        place=replace(BRIDGE.place, device=device),
        layout=replace(GPT.layout, dispatch=dispatch),
        stack=SoftwareStack(container=container),
        precision=precision,
    )


H100 = "H100 SXM 80GB"


@pytest.mark.parametrize(
    ("run", "once"),
    [
        (of_model("Qwen3 30B-A3B"), True),
        (of_model("Qwen3 30B-A3B", device=H100), True),
        (of_model("Qwen3 30B-A3B", device=H100, container="25.11"), False),
        (of_model("Qwen3 235B-A22B", device=H100), False),
        (of_model("DeepSeek-V3", device=H100), True),
        (of_model("DeepSeek-V3", device=H100, container="25.11"), True),
        (of_model("DeepSeek-V3", device="B200 SXM", container="25.11"), False),
        (of_model("DeepSeek-V3", dispatch="token drop"), False),
        (of_model("Kimi K2", container="26.02"), False),
        (of_model("Kimi K2"), True),
        (of_model("Kimi K2", device=H100), False),
    ],
)
def test_tokens_go_once_where_the_recipe_of_the_release_dispatches_by_kernels_of_its_own(run, once):
    assert unset(run, "dispatcher") is once
    assert case(run).software.once is once


def test_the_tensor_axis_waits_where_products_have_four_bits():
    assert case(BRIDGE).software.overlaps
    assert not case(replace(BRIDGE, precision="nvfp4")).software.overlaps


@pytest.mark.parametrize(
    ("container", "grouped"), [("", False), ("26.04.01", False), ("26.06", True)]
)
def test_containers_group_the_products_of_experts_from_some_release_on(container, grouped):
    run = replace(of_model("Qwen3 30B-A3B"), stack=SoftwareStack(container=container))
    assert unset(run, "expert_products") is grouped


@pytest.mark.parametrize(
    ("name", "device"), [("Nemotron_3_Nano", "GB200"), ("Qwen3 30B-A3B", "H100 SXM 80GB")]
)
def test_kernels_for_all_experts_are_for_gated_ones_on_blackwell(name, device):
    run = replace(of_model(name, device=device), stack=SoftwareStack(container="26.06"))
    assert not unset(run, "expert_products")


def test_recipes_overlap_the_tensor_axis_and_old_trainers_do_not():
    assert unset(BRIDGE, "user_buffers")
    assert not unset(GPT, "user_buffers")


def test_recipes_add_up_gradients_in_sixteen_bits():
    assert case(BRIDGE).workload.gradients == CODECS["bf16"]
    assert case(replace(GPT, framework="PyTorch")).workload.gradients == FP32


def test_gradients_of_fp16_trainers_are_sent_in_fp16():
    assert case(GPT).workload.gradients.wire_bytes == 2.0
    assert case(GPT).workload.gradients.held_bytes == 4.0
    assert case(replace(GPT, framework="DeepSpeed")).workload.gradients == CODECS["fp16"]
    assert case(replace(GPT, precision="bf16")).workload.gradients == FP32
    assert case(replace(GPT, date="2023-05")).workload.gradients.wire_bytes == 2.0


@pytest.mark.parametrize(
    ("run", "late"),
    [
        (GPT, True),
        (replace(GPT, date="2023-05"), True),
        (replace(GPT, framework="NeMo Megatron", date="2023-09"), False),
        (replace(GPT, framework="TensorFlow2 (NGC)"), True),
        (replace(GPT, framework="PyTorch (NGC)"), False),
        (replace(RESNET, framework="TensorFlow (NGC)"), False),
    ],
)
def test_gradients_of_text_wait_for_the_last_pass_where_nothing_sends_them_before(run, late):
    assert case(run).software.late is late


@pytest.mark.parametrize(
    ("device", "stage", "spills"),
    [("GB200", 3, True), ("GB200", 1, False), ("B200 SXM", 3, False)],
)
def test_sharded_models_beside_a_host_of_their_own_spill_before_they_recompute(
    device, stage, spills
):
    run = replace(
        BRIDGE,
        place=replace(BRIDGE.place, device=device),
        layout=replace(
            GPT.layout, recompute="", pipeline=1, data=16, interleaving=None, zero_stage=stage
        ),
    )
    first, second, *_ = case(run).plausible
    assert first.recompute is Recompute.NONE
    assert first.offload is Offload.NONE
    assert (second.offload is Offload.ACTIVATIONS) is spills
