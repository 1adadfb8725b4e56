"""Words for what is trained and how it is kept: read as they are meant, or named as left out."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, case

from foretrain.measured import recipe, tuning
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.run import Place, RunLayout, Subject, TableKind, TrainedNetwork
from foretrain.plan.plan import Offload
from foretrain.workload.execution import Loss
from foretrain.workload.library.entries import build
from foretrain.workload.trainable import WeightStorage
from foretrain.workload.workload import Optimizer, Precision

LLAMA = build("llama-2-7b", sequence=512)
ALONE = replace(
    GPT,
    table=TableKind.MEMORY,
    subject=Subject.PEAK_MEMORY,
    framework="HF Trainer + FSDP",
    date="2024-11",
    task="fine-tune",
    network=TrainedNetwork(name="Llama 2 7B", sequence=512),
    place=Place(device="A100 SXM 80GB", devices=1),
    layout=RunLayout(micro_batch=4.0, recompute="full"),
    global_batch=4,
    precision="bf16",
)


def adapters(**changes):
    return tuning.adapters_of(replace(ALONE, **changes), LLAMA, Assumptions())


def assumed(**changes):
    return case(replace(ALONE, **changes)).assumed


@pytest.mark.parametrize(
    "task",
    [
        "LoRA",
        "QLoRA",
        "fine-tune LoRA",
        "SFT (LoRA)",
        "LoRA fine-tune (MLPerf)",
        "PEFT",
        "adapters",
    ],
)
def test_a_task_that_names_adapters_trains_adapters_wherever_the_word_stands(task):
    assert adapters(task=task) is not None
    assert case(replace(ALONE, task=task)).workload.model.trainable < 0.05 * LLAMA.parameters


@pytest.mark.parametrize(
    "task",
    ["fine-tune", "full fine-tuning", "pretrain", "SFT (packed)", "finetune (SQuAD)", "train"],
)
def test_other_tasks_of_training_train_everything(task):
    assert adapters(task=task) is None
    assert case(replace(ALONE, task=task)).workload.model.trainable == LLAMA.parameters


@pytest.mark.parametrize("task", ["inference (scoring)", "distillation", "evaluation"])
def test_what_is_no_training_is_not_covered(task):
    with pytest.raises(NotCovered, match="is not covered"):
        case(replace(ALONE, task=task))


@pytest.mark.parametrize(
    ("notes", "rank", "targets"),
    [
        ("LoRA r=16 on attention projections", 16, ("q_proj", "k_proj", "v_proj", "o_proj")),
        ("LoRA rank 64 on all linear layers", 64, ()),
        ("variant llama-rank10-target-mlp", 10, ("gate_proj", "up_proj", "down_proj")),
        ("LoRA r=4 on q and v", 4, ("q_proj", "v_proj")),
        ("", 8, ("q_proj", "v_proj")),
    ],
)
def test_rank_and_targets_stand_in_notes_or_are_those_of_the_library(notes, rank, targets):
    found = adapters(task="LoRA", notes=notes)
    assert (found.lora, found.targets) == (rank, targets)


def test_stated_trained_parameters_fix_the_rank():
    """32 x (4096 + 4096) parameters for each of two projections of 32 layers at rank 32."""
    found = adapters(task="LoRA (vera)", notes=f"trainable parameters {2 * 32 * 32 * 8192}")
    assert found.lora == 32


def test_another_method_is_said_to_be_priced_as_adapters():
    words = assumed(task="LoRA (vera)", notes=f"trainable parameters {2 * 32 * 32 * 8192}")
    told = "method 'vera' priced as adapters of rank 32, which trains as many parameters"
    assert told in words


@pytest.mark.parametrize(
    ("changes", "stored"),
    [
        ({"precision": "bf16 + bnb nf4"}, WeightStorage.NF4_PLAIN),
        ({"precision": "bf16-true + bnb.nf4-dq"}, WeightStorage.NF4),
        ({"precision": "fp16 amp + gptq 4-bit"}, WeightStorage.GPTQ),
        ({"notes": "base weights gptq 4-bit"}, WeightStorage.GPTQ),
        ({"precision": "bf16 + int8"}, WeightStorage.INT8),
        ({"task": "QLoRA"}, WeightStorage.NF4),
        ({"task": "LoRA (quantised base)"}, WeightStorage.NF4),
        ({"task": "LoRA 4-bit"}, WeightStorage.NF4),
        ({}, None),
    ],
)
def test_a_frozen_base_of_fewer_bits_is_read_from_precision_notes_or_task(changes, stored):
    assert adapters(**{"task": "LoRA"} | changes).stored is stored


def test_four_bits_without_a_name_are_listed():
    assert tuning.HALF_ADAPTERS.words in assumed(task="QLoRA")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "fine-tune with magic"}, "task 'magic'"),
        ({"task": "LoRA on moonlight"}, "task 'moonlight'"),
        ({"precision": "bf16 + holographic"}, "precision 'holographic'"),
        ({"framework": "HF Trainer W/O clip"}, "framework 'W/O clip'"),
    ],
)
def test_words_that_are_not_understood_are_named(changes, words):
    left = [each for each in assumed(**changes) if each.endswith("left out")]
    assert left == [f"{words} is not understood and left out"]


@pytest.mark.parametrize("task", ["LoRA (quantised base)", "pretrain (MLPerf)", "SFT (packed)"])
def test_nothing_is_left_out_of_tasks_of_the_tables(task):
    assert not [each for each in assumed(task=task) if each.endswith("left out")]


def test_states_of_sixteen_bits_have_no_copy_in_fp32():
    notes = "weights and Adam states in 16 bit (no fp32 master)"
    workload = case(replace(ALONE, notes=notes)).workload
    assert workload.optimizer is Optimizer.ADAMW_16BIT
    assert (workload.master_bytes, workload.gradients.held_bytes) == (0.0, 2.0)
    usual = case(ALONE).workload
    assert (usual.optimizer, usual.master_bytes) == (Optimizer.ADAM, 4.0)
    assert usual.precision is Precision.BF16


@pytest.mark.parametrize(
    ("notes", "loss", "norms"),
    [
        ("", Loss.SHIFTED, False),
        ("fused kernels (foak): fused RoPE, RMSNorm, cross entropy", Loss.FUSED, True),
        ("framework_config foak-fast-kernels-liger", Loss.FUSED_LINEAR, True),
        ("cumulative: baseline + chunked cross entropy", Loss.CHUNKED, False),
    ],
)
def test_fused_kernels_stand_in_notes(notes, loss, norms):
    found = recipe.kernels_of(replace(ALONE, notes=notes), adapts=False)
    assert (found.loss, found.norms) == (loss, norms)


def test_a_patched_head_is_not_the_one_that_runs_around_adapters():
    liger = replace(ALONE, task="LoRA", notes="foak-fast-kernels-liger")
    assert recipe.kernels_of(liger, adapts=True).loss is Loss.FUSED


def test_options_of_a_recipe_stand_in_notes():
    run = replace(ALONE, notes="optimizer step in backward + activation offloading + 8-bit AdamW")
    found = case(run)
    assert found.software.stepwise
    assert found.plan.offload is Offload.ACTIVATIONS
    assert found.workload.optimizer is Optimizer.ADAMW_8BIT
    assert not case(ALONE).software.stepwise


def test_megatron_keeps_what_fused_kernels_keep():
    assert not case(GPT).software.phased
    assert not recipe.LIBRARIES.of(GPT)
    assert case(ALONE).software.phased


def test_a_batch_that_a_recipe_fixes_is_listed():
    run = replace(
        ALONE, framework="torchtune", global_batch=None, layout=RunLayout(recompute="full")
    )
    found = case(run)
    assert found.workload.global_batch == 2
    assert recipe.TWO_SAMPLES.words in found.assumed
    with pytest.raises(NotCovered, match="batch not stated"):
        case(replace(run, framework="HF Trainer"))


SHARDED = {"place": replace(ALONE.place, devices=2), "date": "2024-12"}


def sharded(run, **others):
    return replace(run, **(SHARDED | others), layout=replace(run.layout, zero_stage=3))


def test_what_fsdp_trains_is_widened_since_the_end_of_2024():
    full = replace(ALONE, notes="weights and Adam states in 16 bit (no fp32 master)")
    wide, before = case(sharded(full)), case(sharded(full, date="2024-11"))
    assert wide.software.wide_parameters
    assert (wide.workload.master_bytes, wide.workload.optimizer) == (4.0, Optimizer.ADAM)
    assert not before.software.wide_parameters
    assert before.workload.optimizer is Optimizer.ADAMW_16BIT
    assert not case(full).software.wide_parameters


def test_adapters_are_not_widened_with_what_is_frozen():
    assert not case(sharded(replace(ALONE, task="LoRA"))).software.wide_parameters


@pytest.mark.parametrize(
    ("task", "sequence", "masks"),
    [("LoRA", 4096, True), ("LoRA", 2048, False), ("fine-tune", 4096, False)],
)
def test_a_window_as_short_as_a_sample_makes_a_mask(task, sequence, masks):
    network = replace(ALONE.network, name="Mistral 7B v0.1", sequence=sequence)
    run = sharded(replace(ALONE, task=task, network=network))
    assert recipe.masks_of(run, adapts=task == "LoRA") is masks
    assert not recipe.masks_of(replace(run, place=ALONE.place), adapts=True)


def test_norms_that_are_upcast_hand_on_a_wide_stream():
    notes = "framework_config baseline-peft-bnb; base weights bnb nf4"
    run = replace(ALONE, task="LoRA (quantised base)", notes=notes)
    assert recipe.kernels_of(run, adapts=True).wide_stream
    assert not recipe.kernels_of(sharded(run), adapts=True).wide_stream


def test_losses_of_2025_shift_labels_instead_of_logits():
    assert recipe.kernels_of(replace(ALONE, date="2025-06"), adapts=False).loss is Loss.WHOLE
    assert recipe.kernels_of(replace(ALONE, date="2024-12"), adapts=False).loss is Loss.SHIFTED
