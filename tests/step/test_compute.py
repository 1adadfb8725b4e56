"""Compute: tiles, waves and traffic worked by hand, and what every product keeps."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step import compute
from foretrain.step.compute import USUAL, operator_times, product_time, slowest, waited
from foretrain.step.picture_rates import PictureRates
from foretrain.step.rates import Rates
from foretrain.step.strategies.strategy import Share
from foretrain.step.work import FILL, TILES, DeviceWork, Tile, Tiling
from foretrain.workload.graph import Layer, Model, operators_of
from foretrain.workload.operator import Matrices, Operator, OperatorKind, Reach, Size, matmul
from foretrain.workload.workload import Precision

# One unit computes a tile of 128 x 128 of depth 256 (and the fill of 128) in one second.
SECOND = 2.0 * 128 * 128 * (256 + FILL)
A100 = Rates(
    matmul=108 * SECOND,
    narrow=1.0,
    flash_forward=1.0,
    flash_backward=1.0,
    memory=1.0,
    launch=0.0,
    calls=1.0,
    kernel=0.0,
    exchange=0.0,
    checkpoint=0.0,
    gap=0.0,
    unfused=1.0,
    widened=1.0,
    units=108.0,
    pictures=PictureRates(
        tiling=Tiling(tiles=TILES, fill=FILL, units=108.0, rate=108 * SECOND),
        squares=1.0,
        grouped=1.0,
        relaid=0.0,
        depthwise=1.0,
        depthwise_backward=1.0,
        memory=1.0,
        fused=0.0,
        fused_norms=0.0,
        norm_forward=1.0,
        norm_backward=1.0,
        drain=0.0,
        unshrunk=0.0,
    ),
)


def seconds(rows, columns, depth, *, batch=1.0, rate=A100):
    sizes = [np.array([float(size)]) for size in (rows, columns, depth, batch)]
    return float(product_time(*sizes[:3], batch=sizes[3], rate=rate)[0])


@pytest.fixture
def square(monkeypatch):
    """Tiles of 128 x 128 alone."""
    monkeypatch.setattr(compute, "TILES", (Tile(rows=128, columns=128, speed=1.0),))


@pytest.mark.usefixtures("square")
@pytest.mark.parametrize(
    ("tiles", "waves"), [(1, 1), (107, 1), (108, 1), (109, 2), (216, 2), (217, 3)]
)
def test_wave_that_is_not_full_takes_as_long_as_a_full_one(tiles, waves):
    assert seconds(128 * tiles, 128, 256) == waves


@pytest.mark.usefixtures("square")
def test_tile_that_sticks_out_counts_whole():
    assert seconds(129, 128, 256, rate=replace(A100, units=1.0, matmul=SECOND)) == 2
    assert seconds(1, 1, 256) == seconds(128, 128, 256) == 1


@pytest.mark.usefixtures("square")
def test_products_of_a_batch_share_the_waves():
    assert seconds(128, 128, 256, batch=108) == 1
    assert seconds(128, 128, 256, batch=109) == 2


@pytest.mark.usefixtures("square")
def test_few_tiles_are_cut_along_the_depth_too():
    # One tile of depth 4096 on 108 units: 4096 / 512 = 8 parts of 512, each with its fill.
    assert seconds(128, 128, 4096) == 2 * 128 * 128 * (512 + 128) / SECOND


def test_library_picks_the_tile_that_ends_first():
    # 109 tiles of 256 x 128 are two waves of 2 s; 218 of 128 x 128 are three of 1 s.
    assert seconds(256 * 109, 128, 256) == 3
    # 108 of them are one wave of 2 s, as are two waves of 128 x 128.
    assert seconds(256 * 108, 128, 256) == 2
    # One small product fits the smallest tile, at 55 % of the unit's rate.
    assert seconds(64, 64, 256) == pytest.approx(64 * 64 / (128 * 128) / 0.55, rel=1e-12)


@given(
    rows=st.integers(1, 10_000),
    columns=st.integers(1, 10_000),
    depth=st.integers(1, 10_000),
    batch=st.integers(1, 100),
)
def test_no_product_runs_above_the_rate(rows, columns, depth, batch):
    assert seconds(rows, columns, depth, batch=batch) >= (
        2.0 * rows * columns * depth * batch / A100.matmul
    ) * (1 - 1e-12)


@given(
    size=st.tuples(*[st.integers(1, 10_000)] * 3),
    more=st.tuples(*[st.integers(0, 1000)] * 2),
)
def test_larger_output_never_takes_less_time(size, more):
    rows, columns, depth = size
    larger = seconds(rows + more[0], columns + more[1], depth)
    assert larger >= seconds(rows, columns, depth) * (1 - 1e-12)


def test_large_product_comes_near_the_rate():
    flop = 2.0 * 8192**3
    assert flop / A100.matmul / seconds(8192, 8192, 8192) == pytest.approx(0.95, abs=0.05)


def test_tiles_are_no_larger_than_half_the_accumulators_of_a_unit():
    # 65,536 registers of 4 bytes; a tile keeps one for each of its outputs.
    assert max(tile.rows * tile.columns for tile in TILES) <= 65_536 / 2


def product(precision, *, rate=A100, **changes):
    """Forward and backward seconds of one product with weights of 256 x 512, 1024 rows."""
    matrices = Matrices(rows=1024, columns=512, depth=256)
    operator = replace(matmul("dense", matrices, weights=256 * 512), **changes)
    work = DeviceWork(
        operators=operators_of(Model(name="one", layers=(layer(operator),))),
        share=Share(),
        micro_batch=np.ones(1),
        precision=precision,
    )
    times = operator_times(work, rate)
    return float(times.forward[0, 0]), float(times.backward[0, 0])


def layer(*operators):
    return Layer(name="layer", operators=operators, repeats=1, input=1.0, output=1.0)


def test_narrow_values_are_cast_before_the_product_reads_them():
    quick = replace(A100, matmul=1e30)
    forward, backward = product(Precision.FP8, rate=quick)
    left, out, right = 1024 * 256, 1024 * 512, 256 * 512
    # Read at 2 bytes and written twice at 1; then read at 1 and the result written at 2.
    assert forward == 4 * left + (left + right + 2 * out)
    # The gradient of the output is cast once for both products, whose weights' is written at 2.
    assert backward == 4 * out + (out + right + 2 * left) + (left + out + 2 * right)


@pytest.mark.parametrize("kind", [OperatorKind.MEMORY, OperatorKind.FUSED_ATTENTION])
@pytest.mark.parametrize("reach", Reach)
def test_kernels_that_reach_less_take_longer_whatever_limits_them(kind, reach):
    rate = replace(A100, reached=(1.0, 0.5, 0.25))
    flop = 1000.0 if kind is OperatorKind.FUSED_ATTENTION else 0.0
    moving = Operator(name="moving", kind=kind, flop=flop, forward=Size(values=64), reach=reach)
    work = DeviceWork(
        operators=operators_of(Model(name="one", layers=(layer(moving),))),
        share=Share(),
        micro_batch=np.ones(1),
        precision=Precision.BF16,
    )
    slower = float(operator_times(work, rate).forward[0, 0])
    assert slower == float(operator_times(work, A100).forward[0, 0]) * 2**reach


def test_wide_product_of_a_narrow_training_is_that_of_a_wide_one():
    wide = [product(precision, wide=True) for precision in (Precision.FP8, Precision.NVFP4)]
    assert wide == [product(Precision.BF16)] * 2


def test_heads_of_half_the_width_wait_by_hand():
    """On an H100 an exponential costs 256 FLOP: heads of 64 have 256 for each, heads of 128 twice
    as many. So 2 units of time for 1 of products, beside 1.5."""
    flop, one = np.array([[256.0]]), 256.0
    [[found]] = waited(np.array([[1.0]]), flop, one)
    assert found == pytest.approx(2.0 / 1.5)
    [[back]] = waited(np.array([[1.0]]), 2.5 * flop, one, products=2.5)
    assert back == pytest.approx((1.0 + 1.0 / 2.5) / (1.0 + 0.5 / 2.5))


def test_usual_heads_and_what_takes_no_exponential_are_as_they_were():
    assert waited(np.array([[1.0]]), np.array([[USUAL]]), 512.0) == 1.0
    assert waited(np.array([[0.0]]), np.array([[1e9]]), 512.0) == 1.0


def test_the_slowest_of_members_that_exchange_in_a_layer_sets_the_pace():
    """cramer1946, section 28.6; replicas exchange nothing in a layer."""
    plans = table_of([Plan(data=8), Plan(tensor=2, data=4), Plan(tensor=4, context=2)])
    alone, two, eight = slowest(plans, 0.1)
    assert alone == 1.0
    assert two == pytest.approx(1.0 + 0.1 * sqrt(2 * log(2)))
    assert eight == pytest.approx(1.0 + 0.1 * sqrt(2 * log(8)))


def test_experts_wait_for_all_that_they_get_tokens_from():
    [found] = slowest(table_of([Plan(data=64, expert=64)]), 0.1)
    assert found == pytest.approx(1.0 + 0.1 * sqrt(2 * log(64)))


def test_hosts_that_are_all_alike_wait_for_nobody():
    assert slowest(table_of([Plan(tensor=8)]), 0.0) == 1.0
