"""Rates: data sheets times what was measured, no more than they promise."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_nouns import devices

from foretrain.errors import InputError
from foretrain.step.rates import flash_share, flop_of_one, rates
from foretrain.step.work import peak
from foretrain.study.catalogue import device
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import AttentionKernel, Execution, Software
from foretrain.workload.workload import Precision


def test_measured_product_counts_more_than_the_data_sheet():
    chip, matrix = device("a100-sxm-80gb"), DEFAULT.matrix
    found = rates(chip, Precision.BF16, DEFAULT)
    assert found.matmul == pytest.approx(chip.matmul * matrix.sustained, rel=1e-12)
    guessed = rates(replace(chip, matmul=None), Precision.BF16, DEFAULT)
    assert guessed.matmul == 312e12 * (matrix.best * matrix.sustained)


def test_plain_fp32_reaches_a_share_of_its_own():
    found = rates(device("a100-sxm-80gb"), Precision.FP32, DEFAULT)
    assert found.matmul == 19.5e12 * DEFAULT.matrix.fp32


def test_precision_without_units_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"has no bf16 units\. Known for it: fp32, fp16\."):
        peak(device("v100-sxm2-16gb"), Precision.BF16)


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("v100-sxm2-16gb", 0.90),
        ("a100-sxm-40gb", 0.88),
        ("a100-sxm-80gb", 0.86),
        ("a40", 0.95),
        ("l40", 0.93),
        ("h100-pcie", 0.92),
        ("h200-sxm", 0.74),
    ],
)
def test_memory_moves_what_triad_moved_on_the_device(name, measured):
    """Best Triad over the data sheet's bandwidth in te42kyfo/gpu-benches, where nothing slows."""
    plain = DEFAULT.changed({"traffic.sustained": 0.86, "step.factor": 1.0})
    chip = device(name)
    found = rates(chip, Precision.FP32, plain).memory / chip.memory_bandwidth
    assert found == pytest.approx(measured)


def test_device_whose_triad_nobody_measured_moves_what_an_a100_does():
    chip = device("a100-sxm-80gb")
    guessed = rates(replace(chip, triad=None), Precision.BF16, DEFAULT)
    assert guessed.memory == rates(chip, Precision.BF16, DEFAULT).memory


@given(chip=devices(), precision=st.sampled_from(Precision))
def test_no_rate_exceeds_the_data_sheet(chip, precision):
    found = rates(chip, precision, DEFAULT)
    top = peak(chip, precision)
    assert max(found.matmul, found.flash_forward, found.flash_backward) <= top
    assert found.memory <= chip.memory_bandwidth


@given(chip=devices(), precision=st.sampled_from(Precision), execution=st.sampled_from(Execution))
def test_everything_of_a_slower_trainer_takes_as_many_times_as_long(chip, precision, execution):
    software = Software(execution=execution)
    one = rates(chip, precision, DEFAULT, software=software)
    slow = DEFAULT.changed({"step.factor": 2.0 * DEFAULT.step.factor})
    two = rates(chip, precision, slow, software=software)
    assert one.matmul == 2.0 * two.matmul
    assert one.memory == 2.0 * two.memory
    assert one.flash_forward == 2.0 * two.flash_forward
    assert (two.launch, two.gap) == (2.0 * one.launch, 2.0 * one.gap)
    assert (one.narrow, one.unfused) == (two.narrow, two.unfused)


def test_graph_that_was_launched_before_leaves_the_host_nothing_to_do():
    chip = device("h100-sxm")
    assert rates(chip, Precision.BF16, DEFAULT, software=Software(graphs=True)).launch == 0.0


def test_kernels_written_for_older_devices_lose_on_newer_ones():
    old, new, known = device("a100-sxm-80gb"), device("h100-sxm"), DEFAULT.attention
    second = Software(kernel=AttentionKernel.SECOND)
    assert flash_share(new, second, known) == known.legacy * flash_share(old, second, known)
    assert flash_share(new, Software(), known) == known.asynchronous


def test_kernel_that_nobody_names_is_the_newest_in_tuned_software_alone():
    new, known = device("h100-sxm"), DEFAULT.attention
    eager = Software(execution=Execution.EAGER)
    assert flash_share(new, eager, known) == known.legacy * known.second
    old = device("a100-sxm-80gb")
    assert flash_share(old, Software(), known) == flash_share(old, eager, known) == known.second


def test_a_cast_of_its_own_reads_and_writes_what_the_kernel_between_two_does_not():
    """By hand, in 16 bits: 2 + 2 bytes as they are, 4 + 4 wide, and 2 + 4 for each of two casts."""
    chip, share = device("v100-sxm2-16gb"), DEFAULT.traffic.wide

    def widened(precision, **habits):
        return rates(chip, precision, DEFAULT, software=Software(**habits)).widened

    graph = {"execution": Execution.GRAPH}
    assert widened(Precision.FP16, **graph) == pytest.approx(1 - share + share * 8 / 4)
    apart = widened(Precision.FP16, **graph, casts=True)
    assert apart == pytest.approx(1 - share + share * (8 + 6 + 6) / 4)
    assert widened(Precision.FP32, **graph, casts=True) == 1.0
    assert widened(Precision.FP16, execution=Execution.COMPILED, casts=True) == 1.0
    assert widened(Precision.FP16) == 1.0


def test_a_compiler_fuses_what_a_graph_runs_operator_by_operator():
    chip = device("v100-sxm2-16gb")
    unfused = {
        kind: rates(chip, Precision.FP32, DEFAULT, software=Software(execution=kind)).unfused
        for kind in Execution
    }
    assert unfused[Execution.TUNED] == 1.0
    assert unfused[Execution.GRAPH] > unfused[Execution.COMPILED] > 1.0
    graph = rates(chip, Precision.FP32, DEFAULT, software=Software(execution=Execution.COMPILED))
    assert graph.launch == DEFAULT.host.graph_launch


@pytest.mark.parametrize(
    ("name", "flop"),
    [("v100-sxm2-32gb", 64), ("a100-sxm-80gb", 128), ("h100-sxm", 256), ("b200", 512)],
)
def test_an_exponential_takes_as_long_as_more_flop_on_every_later_device(name, flop):
    """Products of a processor in a clock over 16 exponentials (nvidia-a100; shah2024): data sheets
    round clocks, so to an eighth."""
    found = device(name)
    half = found.peak.bf16 or found.peak.fp16
    assert flop_of_one(found, half) == pytest.approx(flop, rel=0.13)


def test_of_a_device_of_which_nobody_says_nothing_is_known():
    assert flop_of_one(device("tpu-v4"), device("tpu-v4").peak.bf16) == 0.0
