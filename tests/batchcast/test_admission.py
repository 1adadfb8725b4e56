"""Which streams there may be, and which readers they can serve."""

import math
from dataclasses import replace

import pytest
from tests.batchcast.played import NUMBER
from tests.batchcast.test_frontend import HELLO, SETTINGS, WHOLE

from batchcast.admission import check_batches, check_place, check_policy
from batchcast.errors import StreamError, StreamVersion
from batchcast.order import Order

LOADER = Order(samples=None, epochs=1, shuffle=False, seed=0)
DATA_SET = Order(samples=9, epochs=1, shuffle=False, seed=0)


@pytest.mark.parametrize("order", [LOADER, DATA_SET])
@pytest.mark.parametrize("policy", ["block", "detach", "spill", "drop"])
def test_only_of_a_data_set_may_a_reader_fall_off(order, policy):
    def allowed():
        check_policy(replace(HELLO, policy=policy), order)

    if policy == "detach" and order is LOADER:
        with pytest.raises(StreamError, match="cannot do"):
            allowed()
    else:
        allowed()


def test_a_saved_state_goes_on_in_the_data_that_it_is_about():
    check_place(HELLO, "s", {"seed": 1})
    check_place(replace(HELLO, about={"seed": 1}), "s", {"seed": 1})
    with pytest.raises(StreamVersion, match="Share the same data"):
        check_place(replace(HELLO, about={"seed": 2}), "s", {"seed": 1})


@pytest.mark.parametrize(
    ("layout", "batch", "asked", "says"),
    [
        (NUMBER, None, {"batch": None}, "how many make a batch"),
        (NUMBER, None, {"batch": 3}, ""),
        (NUMBER, 4, {"batch": None}, ""),
        (NUMBER, 4, {"batch": 3, "policy": "drop", "start": "now"}, ""),
        (WHOLE, 4, {"batch": None, "of_samples": None}, ""),
        (WHOLE, None, {"batch": None, "of_samples": None, "policy": "spill"}, ""),
        (WHOLE, 4, {"of_samples": None, "policy": "drop"}, "tear one apart"),
        (WHOLE, 4, {"of_samples": None, "start": "now"}, "tear one apart"),
        (WHOLE, 4, {"of_samples": "private"}, "private is for samples"),
    ],
)
def test_samples_need_a_batch_size_and_whole_batches_are_not_torn(layout, batch, asked, says):
    def allowed():
        check_batches(replace(HELLO, **asked), replace(SETTINGS, batch=batch), layout)

    if says:
        with pytest.raises(StreamError, match=says):
            allowed()
    else:
        allowed()


@pytest.mark.parametrize("key", ["readers", "workers", "epochs", "memory"])
def test_settings_have_least_values_that_are_allowed(key):
    assert getattr(replace(SETTINGS, **{key: 1}), key) == 1
    with pytest.raises(ValueError, match=f"{key} must be at least 1"):
        replace(SETTINGS, **{key: 0})


@pytest.mark.parametrize(("key", "allowed", "beyond"), [
    ("nice", 40, 41), ("nice", -40, -41), ("patience", 0.0, -0.1), ("patience", 1.0, math.nan),
])  # fmt: skip
def test_settings_have_bounds_that_are_allowed(key, allowed, beyond):
    assert getattr(replace(SETTINGS, **{key: allowed}), key) == allowed
    with pytest.raises(ValueError, match=f"{key} must be"):
        replace(SETTINGS, **{key: beyond})
