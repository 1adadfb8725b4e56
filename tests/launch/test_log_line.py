"""Log lines: the time of a step as trainers print it."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.launch.writing import StepCounts, logged

STEP = StepCounts(samples=256, tokens=4096, devices=16, micro_batches=4)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("2150 ms", 2.15),
        ("12.3 s", 12.3),
        (
            " [2026-11-20 10:00:00] iteration      100/     500 | consumed samples:        25600 |"
            " elapsed time per iteration (ms): 2150.0 | learning rate: 1.500E-04 | global batch:"
            "   256 | lm loss: 6.1E+00 |",
            2.15,
        ),
        ("elapsed time per iteration (s): 105.14 | samples per second: 19.479", 105.14),
        ("global_step: 99 | reduced_train_loss: 5.1 | train_step_timing in s: 6.385", 6.385),
        ("Step Time : 3.20s GPU utilization: 410.5MODEL_TFLOP/s/GPU", 3.2),
        ("steps: 10 loss: 4.1234 iter time (s): 0.512 samples/sec: 31.250", 0.512),
        ("completed step: 7, seconds: 1.234, TFLOP/s/device: 190.1", 1.234),
        # Rates: of steps, of the 256 samples or the 1,048,576 tokens that 16 devices share.
        (
            "\x1b[31mstep: 10  \x1b[32mloss:  8.1234  \x1b[33mmemory: 30.10GiB(37.90%)  "
            "\x1b[34mtps: 8,192  \x1b[36mtflops: 300.10  \x1b[35mmfu: 30.34%\x1b[39m",
            8.0,
        ),
        ("Step 10 | loss:2.1 lr:2e-05 tokens_per_second_per_gpu:8192.0 peak_memory_active:9", 8.0),
        ("     Train throughput/device/tokens_per_sec: 16384.0000", 4.0),
        ("     Train throughput/batches_per_sec: 0.2500", 4.0),
        (
            "epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=99.1,"
            " CurrSamplesPerSec=128.0, MemAllocated=10.3GB, MaxMemAllocated=30.1GB",
            2.0,
        ),
        (
            "{'train_runtime': 400.0, 'train_samples_per_second': 64.0,"
            " 'train_steps_per_second': 0.25, 'train_loss': 2.1, 'epoch': 1.0}",
            4.0,
        ),
        # A micro-batch of the four of a replica.
        ("Epoch 1 | iter 8 step 2 | loss train: 3.1, val: n/a | iter time: 500.00 ms (step)", 2.0),
        ("iteration: 19/220 total_loss: 7.9 time: 1.5 s/iter data_time: 0.2 s/iter lr: 1e-4", 1.5),
        # Megatron-DeepSpeed prints its rates beside the time.
        (
            "elapsed time per iteration (ms): 8100.0 | tokens per gpu per second (tgs): 8091.0 |",
            8.1,
        ),
    ],
)
def test_time_of_a_step_is_read_as_trainers_print_it(line, seconds):
    assert logged(line).seconds(STEP) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("2150", "no unit"),
        ("iteration 100 took a while", "iteration 100"),
        ("elapsed time per iteration (ms): nan", "elapsed"),
        ("elapsed time per iteration (ms): 1.0\nelapsed time per iteration (ms): 2.0", "2 steps"),
    ],
)
def test_what_says_no_time_or_several_is_refused(line, told):
    with pytest.raises(InputError, match=told):
        logged(line).seconds(STEP)


BAR = "Epoch 0:  10%|#         | 10/100 [00:12<01:50, {}, v_num=0]"


@pytest.mark.parametrize(("rate", "seconds"), [("0.80it/s", 1.25), ("1.25s/it", 1.25)])
def test_a_bar_of_progress_counts_steps_where_a_step_is_one_micro_batch(rate, seconds):
    line = logged(BAR.format(rate))
    assert line.seconds(replace(STEP, micro_batches=1)) == pytest.approx(seconds, rel=1e-12)
    with pytest.raises(InputError, match="a step of this plan has 4 micro-batches"):
        line.seconds(STEP)


def test_a_rate_of_nothing_is_no_rate():
    with pytest.raises(InputError, match="tps: 0': must be above 0"):
        logged("step: 1 tps: 0")
