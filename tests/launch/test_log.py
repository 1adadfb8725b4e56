"""Whole logs, as six trainers print them: the steady time of a step, or why there is none."""

import random

import pytest

from foretrain.errors import InputError
from foretrain.launch.log import WARM_UP, steady
from foretrain.launch.writing import StepCounts

STEP = StepCounts(samples=256, tokens=4096, devices=16, micro_batches=4)


def seconds(step, *, steady_at=2.0, noise=0.01):
    """What a step takes: the first compile, some more are slow, each fiftieth saves."""
    slow = {1: 40.0, 2: 6.0, 3: 3.0}.get(step, 0.0)
    shake = random.Random(step).uniform(-noise, noise)
    return steady_at * (1.0 + shake) + slow + (15.0 if step % 50 == 0 else 0.0)


def megatron(took, every=10):
    yield "using world size: 16, data-parallel size: 8, tensor-model-parallel size: 2"
    yield "[before the start of training step] datetime: 2026-11-20 10:00:00"
    for step in range(every, len(took) + 1, every):
        mean = sum(took[step - every : step]) / every
        yield (
            f" [2026-11-20 10:00:00] iteration {step:8d}/{len(took):8d} | consumed samples: "
            f"{256 * step:12d} | elapsed time per iteration (ms): {1e3 * mean:.1f} | throughput "
            "per GPU (TFLOP/s/GPU): 410.5 | learning rate: 3.0E-04 | global batch size:   256 | "
            "lm loss: 6.1E+00 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )


def torchtitan(took):
    yield "[titan] 2026-11-20 10:00:00,000 - root - INFO - Training starts at step 1"
    for step, each in enumerate(took, start=1):
        tokens = STEP.samples * STEP.tokens / STEP.devices / each
        yield (
            f"[rank0]:[titan] 2026-11-20 10:00:00,000 - root - INFO - \x1b[31mstep: {step:2}  "
            f"\x1b[32mloss:  8.1234  \x1b[38;2;180;60;0mgrad_norm:  1.2  \x1b[33mmemory: 30.10GiB"
            f"(37.90%)  \x1b[34mtps: {round(tokens):,}  \x1b[36mtflops: 300.10  \x1b[35mmfu: 30.3%"
            "\x1b[39m"
        )


def deepspeed(took):
    yield "[2026-11-20 10:00:00,000] [INFO] [config.py:1001:print] DeepSpeedEngine configuration:"
    for step in range(10, len(took) + 1, 10):
        rate = 2560 / sum(took[step - 10 : step])
        yield f"[2026-11-20 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, "
        yield (
            f"[2026-11-20 10:00:00,000] [INFO] [timer.py:264:stop] epoch=0/micro_step={4 * step}/"
            f"global_step={step}, RunningAvgSamplesPerSec=99.1, CurrSamplesPerSec={rate!r}, "
            "MemAllocated=10.3GB, MaxMemAllocated=30.1GB"
        )


def nemo(took):
    for step, each in enumerate(took, start=1):
        yield (
            f"Training epoch 0, iteration {step - 1}/999 | lr: 2.699e-07 | global_batch_size: 256 |"
            f" global_step: {step - 1} | reduced_train_loss: 11.03 | train_step_timing in s: "
            f"{each:.4f} | consumed_samples: {256 * step}"
        )


def lightning(took):
    """One bar, drawn over itself after each of a replica's four micro-batches."""
    batches = [each / 4 for each in took for _ in range(4)]
    drawn = [
        f"\rEpoch 0:  10%|#         | {place}/4000 [00:12<01:50, {rate(each)}, v_num=0]"
        for place, each in enumerate(batches, start=1)
    ]
    yield "".join(drawn)
    yield "\rValidation DataLoader 0: 100%|####| 20/20 [00:01<00:00, 19.0it/s]"


def transformers(took):
    """A bar of steps, sayings of a callback between, and a summary with the first steps in it."""
    yield "Loading checkpoint shards: 100%|####| 4/4 [00:05<00:00,  1.30s/it]"
    for step, each in enumerate(took, start=1):
        yield f"\r  4%|4         | {step}/1000 [00:41<16:02,  {rate(each)}]"
        if step % 10 == 0:
            yield "{'loss': 2.1034, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}"
    total = sum(took)
    yield (
        f"{{'train_runtime': {total:.1f}, 'train_samples_per_second': {256 * len(took) / total:.2f}"
        f", 'train_steps_per_second': {len(took) / total:.3f}, 'train_loss': 2.1, 'epoch': 1.0}}"
    )


def rate(each):
    return f"{each:.2f}s/it" if each > 1 else f"{1 / each:.2f}it/s"


TRAINERS = [megatron, torchtitan, deepspeed, nemo, lightning, transformers]


def log(trainer, many=200, **how):
    return "\n".join(trainer([seconds(step, **how) for step in range(1, many + 1)]))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_steady_time_of_a_step_is_found(trainer):
    found = steady(log(trainer))
    assert found.told.seconds(STEP) == pytest.approx(2.0, rel=0.01)
    assert found.spread < 0.03


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_log_of_the_first_steps_alone_is_refused(trainer):
    many = 24 if trainer is not lightning else 5
    with pytest.raises(InputError, match=rf"lines? \d+.*behind the first {WARM_UP} steps"):
        steady(log(trainer, many))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_noisy_log_is_refused_with_its_figures(trainer):
    # Means of ten steps are quieter than steps.
    noise = 0.9 if trainer in (megatron, deepspeed) else 0.3
    with pytest.raises(InputError, match=r"lines \d+ to \d+ are too unlike: .* of the median"):
        steady(log(trainer, 1000, noise=noise))


def test_steps_that_grow_longer_are_refused():
    took = [1.0 + 0.0006 * step for step in range(200)]
    with pytest.raises(InputError, match=r"still change: the median is 1\.0\d+ s up to line 1\d\d"):
        steady("\n".join(nemo(took)))


def test_the_first_mean_of_many_steps_holds_the_first_steps():
    """Of means over 100 steps, the first one is left out, and five more are enough."""
    took = [seconds(step) for step in range(1, 601)]
    found = steady("\n".join(megatron(took, every=100)))
    assert found.figures == 5
    with pytest.raises(InputError, match=r"5 figures .* of which 4 lie"):
        steady("\n".join(megatron(took[:500], every=100)))


def test_lines_that_every_process_prints_count_once():
    took = [seconds(step) for step in range(1, 101)]
    lines = [line for line in nemo(took) for _ in range(8)]
    assert steady("\n".join(lines)).figures == 80


def test_a_run_that_goes_on_warms_up_again():
    took = [seconds(step) for step in range(1, 61)]
    text = "\n".join(nemo(took)).replace("global_step: ", "global_step: 70")
    assert steady(text).told.seconds(STEP) == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("text", ["", "Traceback (most recent call last):\n  boom\n"])
def test_a_log_without_times_says_what_to_give(text):
    with pytest.raises(InputError, match="no line says how long a step took"):
        steady(text)


def test_a_time_of_nothing_is_told_with_its_line():
    with pytest.raises(InputError, match=r"^line 1: .*above 0"):
        steady("elapsed time per iteration (ms): 0.0 |")


def test_a_dump_of_a_million_digits_holds_nobody_up():
    took = [seconds(step) for step in range(1, 101)]
    text = "\n".join(["7" * 1_000_000, *nemo(took), "1," * 500_000])
    assert steady(text).told.seconds(STEP) == pytest.approx(2.0, rel=0.01)
