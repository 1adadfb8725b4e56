"""What devices and software do to kernels over pictures."""

from dataclasses import replace

import pytest

from foretrain.step.rates import has_matrix_units, picture_rates
from foretrain.study.catalogue import device
from foretrain.study.coefficients import PRIORS
from foretrain.trainers.software import Execution, Software
from foretrain.workload.workload import Precision

KNOWN = PRIORS.coefficients
EAGER = Software(execution=Execution.EAGER)
TUNED = Software(execution=Execution.TUNED)


def rates(name, precision=Precision.FP16, software=TUNED, known=KNOWN):
    return picture_rates(device(name), precision, known, software=software)


@pytest.mark.parametrize(
    ("name", "has"),
    [("k80", False), ("p100-sxm2", False), ("v100-sxm2-16gb", True), ("rtx-3090", True)],
)
def test_matrix_units_came_with_volta(name, has):
    assert has_matrix_units(device(name)) is has


def test_winograd_is_for_plain_fp32_from_maxwell_on():
    assert rates("k80", Precision.FP32).squares == 1.0
    assert rates("p100-sxm2", Precision.FP32).squares == KNOWN.pictures.winograd
    assert rates("v100-sxm2-16gb", Precision.FP32).squares == KNOWN.pictures.winograd
    assert rates("v100-sxm2-16gb", Precision.FP16).squares == 1.0


def test_only_matrix_units_want_channels_last():
    relays = replace(EAGER, relays=True)
    assert rates("v100-sxm2-16gb", Precision.FP16, relays).relaid > 0
    assert rates("v100-sxm2-16gb", Precision.FP32, relays).relaid == 0
    assert rates("v100-sxm2-16gb", Precision.FP16, EAGER).relaid == 0


def test_small_tiles_starve_where_units_outrun_the_cache():
    slow, quick = (
        {(tile.rows, tile.columns): tile.speed for tile in rates(name).tiling.tiles}
        for name in ("v100-sxm2-16gb", "h100-sxm")
    )
    assert slow[256, 128] == quick[256, 128] == 1.0
    assert quick[64, 64] < slow[64, 64] <= 1.0


def test_software_fuses_more_the_more_it_sees():
    fused = [
        rates("a100-sxm-80gb", software=software).fused
        for software in (EAGER, Software(execution=Execution.GRAPH), TUNED)
    ]
    assert fused[0] == 0.0
    assert fused == sorted(fused)
    compiled = Software(execution=Execution.GRAPH, compiled=True)
    assert rates("a100-sxm-80gb", software=compiled).fused == fused[2]


def test_compiler_of_a_whole_network_takes_statistics_in_passing():
    whole = rates("tpu-v4", Precision.BF16, Software(execution=Execution.GRAPH, whole=True))
    assert whole.norm_forward < rates("tpu-v4", Precision.BF16).norm_forward < 1.0


def test_pace_slows_every_kernel_alike():
    slower = KNOWN.changed({"step.factor": 2.0})
    for precision in (Precision.FP16, Precision.FP32):
        usual, slow = (rates("v100-sxm2-16gb", precision, known=each) for each in (KNOWN, slower))
        assert slow.tiling.rate == usual.tiling.rate / 2
        assert slow.memory == usual.memory / 2
        assert slow.depthwise == usual.depthwise / 2
        speeds = [[tile.speed for tile in each.tiling.tiles] for each in (usual, slow)]
        assert speeds[0] == pytest.approx(speeds[1])
