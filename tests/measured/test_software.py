"""Kinds of software: every framework of the tables has one, by its name alone."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, case, unset
from tests.tables import published

from foretrain.measured import lore
from foretrain.measured.coverage import Belief, Lore, circumstances_of
from foretrain.measured.run import Place, SoftwareStack
from foretrain.study.trainers import trainers
from foretrain.trainers.software import AttentionKernel, Execution
from foretrain.trainers.trainer import recognised
from foretrain.trainers.vocabulary import OPTIONS

TRAINING = ("llm_training", "cnn_training", "other_training", "single_device")


def execution(framework, **changes):
    return case(replace(GPT, framework=framework, **changes)).software.execution


@pytest.mark.parametrize("table", TRAINING)
def test_the_software_of_every_row_is_known(table):
    runs = published(table)
    assert all(recognised(circumstances_of(run), trainers()).recognised for run in runs)


@pytest.mark.parametrize("table", TRAINING)
def test_no_row_is_of_two_families(table):
    for run in published(table):
        at = circumstances_of(run)
        found = [
            (bool(where.publisher), each.family)
            for each in trainers()
            for where in each.recognised
            if where.holds(at)
        ]
        assert len({family for sure, family in found if sure == max(found)[0]}) == 1, run.framework


@pytest.mark.parametrize(
    ("framework", "kind"),
    [
        ("PyTorch (NGC)", Execution.EAGER),
        ("Composer + PyTorch FSDP", Execution.EAGER),
        ("torchtitan (PyTorch FSDP2)", Execution.EAGER),
        ("CuDNN[R4]-fp16 (Torch)", Execution.EAGER),
        ("TensorFlow2 (NGC)", Execution.GRAPH),
        ("TensorFlow 1.x w/XLA", Execution.COMPILED),
        ("LiBai (OneFlow)", Execution.TUNED),
        ("MaxText (JAX)", Execution.COMPILED),
        ("Megatron-DeepSpeed", Execution.TUNED),
        ("Megatron-Bridge (Megatron-Core)", Execution.TUNED),
        ("DeepSpeed transformer kernel", Execution.TUNED),
    ],
)
def test_a_framework_is_of_the_kind_that_its_name_tells(framework, kind):
    assert execution(framework) is kind


def test_submissions_to_mlperf_are_tuned_on_gpus_and_compiled_elsewhere():
    run = replace(GPT, framework="MXNet NVIDIA Release 20.06", source_id="mlperf-v0.7")
    assert unset(run, "execution") is Execution.TUNED
    assert unset(replace(run, place=Place(device="TPU v3")), "execution") is Execution.COMPILED


def test_a_compiler_makes_a_graph_of_an_eager_program_and_leaves_others_as_they_are():
    compiled = {"stack": SoftwareStack(compiled=True)}
    assert execution("PyTorch", **compiled) is Execution.COMPILED
    assert execution("Megatron-LM", **compiled) is Execution.TUNED


def test_an_unknown_name_is_taken_as_eager_and_listed():
    run = replace(GPT, framework="in-house")
    assert case(run).software.execution is Execution.EAGER
    assert OPTIONS["execution"].values["eager"].words in case(run).assumed
    assert case(run).trainer == "any"


def test_a_case_knows_graphs_and_the_kernel_of_attention():
    stack = SoftwareStack(graphs=True, attention=AttentionKernel.CUDNN)
    software = case(replace(GPT, stack=stack)).software
    assert (software.execution, software.graphs) == (Execution.TUNED, True)
    assert software.kernel is AttentionKernel.CUDNN


TABLES_OF_LORE = [each for each in vars(lore).values() if isinstance(each, Lore)]


@pytest.mark.parametrize("table", TABLES_OF_LORE)
def test_all_lore_says_why_and_of_whom(table):
    assert all(each.why for each in table.entries)
    unnamed = Belief(says=None, why="any")
    assert all(replace(each, says=None, why="any") != unnamed for each in table.entries)
