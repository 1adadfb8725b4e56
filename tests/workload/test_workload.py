"""Workloads: bytes per parameter of each precision and optimizer, and what is refused."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Optimizer, Precision, Workload

MODEL = build("resnet-50", image=224)


@pytest.mark.parametrize("precision", Precision)
def test_optimizer_updates_four_bytes_of_every_parameter(precision):
    working = precision.master_bytes or precision.value_bytes
    assert working == precision.gradient_bytes == 4


@pytest.mark.parametrize(
    ("optimizer", "moments"),
    [(Optimizer.SGD, 0), (Optimizer.MOMENTUM, 1), (Optimizer.ADAM, 2), (Optimizer.ADAMW, 2)],
)
def test_state_is_four_bytes_per_moment(optimizer, moments):
    assert optimizer.state_bytes == 4 * moments


@pytest.mark.parametrize("batch", [0, -1, float("nan")])
def test_step_without_a_sample_is_refused(batch):
    with pytest.raises(InputError, match=r"Workload\.global_batch must be at least 1 sample"):
        Workload(model=MODEL, global_batch=batch)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_training_without_a_sample_is_refused(value):
    with pytest.raises(InputError, match=r"Workload\.samples must be above 0"):
        Workload(model=MODEL, global_batch=1, samples=value)
