"""Workloads: bytes per parameter of each precision and optimizer, and what is refused."""

from dataclasses import fields

import pytest

from foretrain.cluster.device import Peak
from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Optimizer, Precision, Workload

MODEL = build("resnet-50", image=224)


@pytest.mark.parametrize("precision", Precision)
def test_optimizer_updates_four_bytes_of_every_parameter(precision):
    working = precision.master_bytes or precision.value_bytes
    assert working == precision.gradient_bytes == 4


MOMENTS = {
    Optimizer.SGD: 0,
    Optimizer.ADAFACTOR: 0,
    Optimizer.MOMENTUM: 1,
    Optimizer.LARS: 1,
    Optimizer.LION: 1,
    Optimizer.ADAGRAD: 1,
    Optimizer.MUON: 1,
    Optimizer.ADAM: 2,
    Optimizer.ADAMW: 2,
    Optimizer.LAMB: 2,
}


@pytest.mark.parametrize(("optimizer", "moments"), MOMENTS.items())
def test_state_is_four_bytes_per_moment(optimizer, moments):
    assert optimizer.state_bytes == 4 * moments


def test_narrow_moments_are_a_half_or_a_quarter_and_their_scales():
    assert set(Optimizer) - set(MOMENTS) == {Optimizer.ADAMW_16BIT, Optimizer.ADAMW_8BIT}
    assert Optimizer.ADAMW_16BIT.state_bytes == Optimizer.ADAMW.state_bytes / 2
    assert Optimizer.ADAMW_8BIT.state_bytes == Optimizer.ADAMW.state_bytes / 4 + 2 * 4 / 2048


@pytest.mark.parametrize("precision", Precision)
def test_every_precision_has_a_peak_that_devices_state(precision):
    assert precision.peak in {field.name for field in fields(Peak)}


@pytest.mark.parametrize(
    ("precision", "read"),
    [
        ("fp32", 4),
        ("tf32", 4),
        ("bf16", 2),
        ("fp8", 1),
        ("fp8-current", 1),
        ("fp8-block", 33 / 32),
        ("mxfp8", 33 / 32),
        ("nvfp4", 9 / 16),
    ],
)
def test_products_read_narrow_values_and_their_scales(precision, read):
    assert Precision(precision).product_bytes == read


@pytest.mark.parametrize("precision", Precision)
def test_only_products_in_fewer_bits_than_activations_need_a_cast(precision):
    narrow = precision.product_bytes < precision.value_bytes
    assert (precision.cast_bytes > 0) == narrow
    assert precision.value_bytes >= 2


@pytest.mark.parametrize("batch", [0, -1, float("nan")])
def test_step_without_a_sample_is_refused(batch):
    with pytest.raises(InputError, match=r"Workload\.global_batch must be at least 1 sample"):
        Workload(model=MODEL, global_batch=batch)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_training_without_a_sample_is_refused(value):
    with pytest.raises(InputError, match=r"Workload\.samples must be above 0"):
        Workload(model=MODEL, global_batch=1, samples=value)


def test_pure_sixteen_bits_have_no_master_copy():
    known = {"model": MODEL, "global_batch": 8, "precision": Precision.BF16}
    assert Workload(**known).master_bytes == 4
    assert Workload(**known, master_copy=False).master_bytes == 0


@pytest.mark.parametrize(("optimizer", "moments"), MOMENTS.items())
def test_only_a_second_moment_has_a_root(optimizer, moments):
    assert optimizer.root_bytes == (4 if moments == 2 else 0)
