"""Steps of synchronous training: by hand, by their limits, and by scaling."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.step_fit import ExchangeLinks, StepModel, TimedStep, exchange

MODEL = StepModel(
    batches=(10, 20), seconds=(0.2, 0.3), crowding=0.1, near=0.2, far=0.4, pair=1.5, jitter=0.0,
    overlap=1.0,
)  # fmt: skip
TIMED = {"nodes": 2, "devices": 3, "batch": 8, "step": 2.0, "sync": 0.5}
PLACEMENTS = st.lists(st.integers(1, 4), min_size=1, max_size=6).map(tuple)


def test_a_single_device_exchanges_nothing():
    assert MODEL.times((1,), 10) == pytest.approx((0.2, 0.0))


@pytest.mark.parametrize(
    ("placement", "computing", "exchanging"),
    [  # four devices pass on 2 x 3/4 of all gradients, eight 2 x 7/8
        ((4,), 0.2 * 1.3, 0.2 * 1.5),
        ((2, 2), 0.2 * 1.1, 0.4 * 1.5 * 1.5),
        ((2, 1, 1), 0.2 * 1.1, 0.4 * 1.5),
        ((3, 3, 2), 0.2 * 1.2, 0.4 * 1.75),
    ],
)
def test_without_overlap_computing_and_exchanging_add_up(placement, computing, exchanging):
    assert MODEL.times(placement, 10) == pytest.approx((computing + exchanging, exchanging))


def test_with_much_overlap_the_longer_one_is_what_takes_time():
    hidden = replace(MODEL, overlap=200.0)
    assert hidden.times((1, 1, 1, 1), 10)[0] == pytest.approx(0.4 * 1.5)
    assert hidden.times((2,), 20)[0] == pytest.approx(0.3 * 1.1)


def test_an_exchange_waits_for_the_longest_of_exponential_times():
    jittery = replace(MODEL, jitter=0.5)
    longest = np.random.default_rng(0).exponential(1.0, (200_000, 4)).max(axis=1).mean()
    exchanging = 0.4 * 1.5 * (0.5 + 0.5 * longest)
    assert jittery.times((1, 1, 1, 1), 10)[1] == pytest.approx(exchanging, rel=0.005)


@given(placement=PLACEMENTS, batch=st.integers(1, 100), overlap=st.floats(1.0, 20.0))
def test_a_step_lies_between_its_longest_part_and_all_of_them(placement, batch, overlap):
    computing = MODEL.times(placement, batch)[0] - MODEL.times(placement, batch)[1]
    exchanging = MODEL.times(placement, batch)[1]
    step = replace(MODEL, overlap=overlap).times(placement, batch)[0]
    assert max(computing, exchanging) * (1 - 1e-9) <= step
    assert step <= (computing + exchanging) * (1 + 1e-9)


@given(factor=st.floats(0.01, 100.0), placement=PLACEMENTS, batch=st.integers(1, 100))
def test_all_times_by_a_factor_divide_a_step_by_it(factor, placement, batch):
    quick = replace(
        MODEL,
        seconds=tuple(each / factor for each in MODEL.seconds),
        near=MODEL.near / factor,
        far=MODEL.far / factor,
    )
    assert quick.times(placement, batch)[0] * factor == pytest.approx(
        MODEL.times(placement, batch)[0]
    )


def test_a_row_of_a_table_equals_the_placement_alone():
    links = ExchangeLinks(near=0.2, far=0.4, pair=1.5, jitter=0.3)
    nodes, devices = np.array([1.0, 1, 2, 3, 16]), np.array([1.0, 4, 2, 5, 64])
    alone = [exchange(links, float(n), float(d)) for n, d in zip(nodes, devices, strict=True)]
    np.testing.assert_array_equal(exchange(links, nodes, devices), alone)


@pytest.mark.parametrize(
    ("batch", "seconds"),
    [(10, 0.2), (15, 0.25), (20, 0.3), (40, 0.5), (5, 0.15), (1, 0.11)],
)
def test_computing_lies_on_the_line_through_the_nearest_batches(batch, seconds):
    assert MODEL.times((1,), batch)[0] == pytest.approx(seconds)


def test_a_smaller_batch_never_makes_a_sample_cheaper():
    steep = replace(MODEL, seconds=(0.2, 0.9))  # the line is below 0 at a batch of 7
    assert steep.times((1,), 5)[0] == pytest.approx(0.1)


def test_of_a_single_batch_half_is_taken_to_be_fixed():
    single = replace(MODEL, batches=(10,), seconds=(0.2,))
    assert [single.times((1,), batch)[0] for batch in (10, 20)] == pytest.approx([0.2, 0.3])


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("batches", ()),
        ("batches", (20, 10)),
        ("seconds", (0.1,)),
        ("seconds", (0.0, 0.1)),
        ("crowding", -0.1),
        ("near", float("nan")),
        ("far", float("inf")),
        ("pair", 0.0),
        ("jitter", -1e-9),
        ("overlap", 0.999),
    ],
)
def test_a_model_that_cannot_be_is_refused(name, refused):
    with pytest.raises(InputError, match=f"StepModel.{name}"):
        replace(MODEL, **{name: refused})


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("nodes", 0),
        ("nodes", 4),
        ("batch", 0),
        ("sync", 2.0),
        ("sync", -0.1),
        ("step", float("nan")),
        ("placement", (3,)),
        ("placement", (2, 2)),
    ],
)
def test_a_timed_step_that_cannot_be_is_refused(name, refused):
    with pytest.raises(InputError, match="TimedStep"):
        TimedStep(**TIMED | {name: refused})


def test_the_busiest_node_is_told_or_as_even_as_can_be():
    assert TimedStep(**TIMED).busiest == 2
    assert TimedStep(**TIMED | {"devices": 5, "placement": (4, 1)}).busiest == 4
