"""Log lines: the time of a step as trainers print it."""

import pytest

from foretrain.errors import InputError
from foretrain.launch.log_line import step_seconds


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
    ],
)
def test_time_of_a_step_is_read_as_trainers_print_it(line, seconds):
    assert step_seconds(line) == pytest.approx(seconds, rel=1e-12)


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
        step_seconds(line)
