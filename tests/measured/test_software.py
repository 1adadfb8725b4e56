"""Kinds of software: every framework of the tables has one, by its name alone."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.measured.runs import GPT, case

from foretrain.measured import defaults, lore
from foretrain.measured.coverage import Belief, Lore
from foretrain.measured.run import Place, SoftwareStack
from foretrain.study.measurements import read_runs
from foretrain.trainers.software import AttentionKernel, Execution

TABLES = Path(__file__).parents[2] / "validation" / "tables"
TRAINING = ("llm_training", "cnn_training", "other_training", "single_device")


def execution(framework, **changes):
    return case(replace(GPT, framework=framework, **changes)).software.execution


@pytest.mark.parametrize("table", TRAINING)
def test_the_software_of_every_row_is_known(table):
    assert all(lore.EXECUTION.of(run) for run in read_runs(TABLES / f"{table}.csv"))


@pytest.mark.parametrize(
    ("framework", "kind"),
    [
        ("PyTorch (NGC)", Execution.EAGER),
        ("Composer + PyTorch FSDP", Execution.EAGER),
        ("torchtitan (PyTorch FSDP2)", Execution.EAGER),
        ("CuDNN[R4]-fp16 (Torch)", Execution.EAGER),
        ("TensorFlow2 (NGC)", Execution.GRAPH),
        ("LiBai (OneFlow)", Execution.TUNED),
        ("MaxText (JAX)", Execution.GRAPH),
        ("Megatron-DeepSpeed", Execution.TUNED),
        ("Megatron-Bridge (Megatron-Core)", Execution.TUNED),
        ("DeepSpeed transformer kernel", Execution.TUNED),
    ],
)
def test_a_framework_is_of_the_kind_that_its_name_tells(framework, kind):
    assert execution(framework) is kind


def test_submissions_to_mlperf_are_tuned_on_gpus_and_compiled_elsewhere():
    run = replace(GPT, framework="MXNet NVIDIA Release 20.06", source_id="mlperf-v0.7")
    assert lore.EXECUTION.of(run) is Execution.TUNED
    assert lore.EXECUTION.of(replace(run, place=Place(device="TPU v3"))) is Execution.GRAPH


def test_a_compiler_makes_a_graph_of_an_eager_program_and_leaves_others_as_they_are():
    compiled = {"stack": SoftwareStack(compiled=True)}
    assert execution("PyTorch", **compiled) is Execution.GRAPH
    assert execution("Megatron-LM", **compiled) is Execution.TUNED


def test_an_unknown_name_is_taken_as_eager_and_listed():
    run = replace(GPT, framework="in-house")
    assert case(run).software.execution is Execution.EAGER
    assert defaults.EAGER_SOFTWARE.words in case(run).assumed


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
