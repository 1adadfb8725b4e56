"""What devices and software do to kernels over pictures."""

from dataclasses import replace

import pytest

from foretrain.step.picture_rates import fed, has_matrix_units, learned, picture_rates
from foretrain.study.catalogue import device
from foretrain.study.coefficients import PRIORS
from foretrain.trainers.software import Convolutions, Execution, Software
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
        rates("a100-sxm-80gb", software=software).fused_norms
        for software in (EAGER, Software(execution=Execution.GRAPH), TUNED)
    ]
    assert fused[0] == 0.0
    assert fused == sorted(fused)
    compiled = Software(execution=Execution.GRAPH, compiled=True)
    assert rates("a100-sxm-80gb", software=compiled).fused_norms == fused[2]


@pytest.mark.parametrize("execution", [Execution.GRAPH, Execution.TUNED])
def test_libraries_fuse_norms_of_sixteen_bits_alone(execution):
    software = Software(execution=execution)
    assert rates("v100-sxm2-16gb", Precision.FP16, software).fused_norms > 0
    assert rates("v100-sxm2-16gb", Precision.FP32, software).fused_norms == 0
    compiled = replace(software, compiled=True)
    assert rates("v100-sxm2-16gb", Precision.FP32, compiled).fused_norms > 0


def test_runtime_that_knows_the_graph_fuses_nothing_but_what_follows_norms():
    assert rates("a100-sxm-80gb", software=Software(execution=Execution.GRAPH)).fused == 0


def test_kernels_of_a_graph_are_like_those_of_an_eager_framework():
    graph = Software(execution=Execution.GRAPH)
    usual, eager = (rates("a100-sxm-80gb", software=each).memory for each in (graph, EAGER))
    assert usual == eager * KNOWN.pictures.graph


def test_libraries_lack_most_on_the_day_when_a_device_appears_and_half_as_much_a_year_later():
    chip, young = device("v100-sxm2-16gb"), 0.3
    found = [
        learned(chip, replace(EAGER, built=built), young)
        for built in (2016.0, 2017.0 + 5.5 / 12, 2018.0 + 5.5 / 12, 2030.0)
    ]
    assert found == pytest.approx([0.7, 0.7, 0.85, 1.0], abs=1e-3)


def test_library_knows_every_device_where_nobody_says_when_either_came_out():
    chip = device("v100-sxm2-16gb")
    assert learned(chip, EAGER, 0.3) == 1.0
    assert learned(replace(chip, released=None), replace(EAGER, built=2017.5), 0.3) == 1.0


def test_code_of_one_generation_runs_on_its_later_chips():
    software = replace(EAGER, built=2022.8)
    known = [learned(device(name), software, 0.3) for name in ("a100-sxm-80gb", "l40", "h100-sxm")]
    assert known[0] == known[1] > known[2]


def test_units_of_half_the_rate_wait_half_as_long_for_what_feeds_them():
    """An RTX 3090 does a quarter of an A100's products a clock with fp32 sums, an A6000 a half."""
    share = 0.75
    found = [
        fed(device(name), share, device(name).peak.fp16, usual=2048.0)
        for name in ("a100-sxm-80gb", "rtx-a6000", "rtx-3090")
    ]
    waits = [1.0 / each - 1.0 for each in found]
    assert waits == pytest.approx([1 / 3, 1 / 6, 1 / 12], rel=0.01)


@pytest.mark.parametrize(
    ("name", "cores"), [("k80", 192), ("titan-x-maxwell", 128), ("p100-sxm2", 64), ("a40", 128)]
)
def test_more_cores_of_a_processor_share_what_feeds_them(name, cores):
    chip = device(name)
    found = fed(chip, 0.75, chip.peak.fp32, usual=256.0)
    assert 1.0 / found - 1.0 == pytest.approx(cores / 128 / 3)


def test_maker_that_says_nothing_of_its_processors_reaches_the_usual_share():
    chip = device("gaudi2")
    assert fed(chip, 0.75, chip.peak.bf16, usual=2048.0) == 0.75


def test_library_that_knows_no_matrix_units_computes_sixteen_bits_as_fp32():
    early = replace(EAGER, matrix_units=False)
    half, full = (
        rates("titan-v", precision, early).tiling for precision in (Precision.FP16, Precision.FP32)
    )
    assert half == full


@pytest.mark.parametrize(
    ("kind", "transforms"),
    [
        (Convolutions.LOWERED, False),
        (Convolutions.DIRECT, False),
        (Convolutions.FIRST_TRANSFORMS, True),
        (Convolutions.CHOSEN, True),
    ],
)
def test_libraries_have_winograd_since_their_first_transforms(kind, transforms):
    found = rates("p100-sxm2", Precision.FP32, replace(EAGER, convolutions=kind))
    assert (found.squares > 1) is transforms
    assert found.chosen is (kind is Convolutions.CHOSEN)
    assert found.lowered is (kind is Convolutions.LOWERED)


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
