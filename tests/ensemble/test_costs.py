from dataclasses import replace
from math import inf, nan

import pytest
from tests.ensemble.settings import COSTS

from foretrain.ensemble.costs import Cores, ExchangeCosts, Watts
from foretrain.errors import InputError


def test_k_is_what_can_be_shared_over_what_cannot():
    assert COSTS.shareable == 10.0
    assert replace(COSTS, train=0.0).shareable == inf


def test_all_that_is_wrong_with_costs_is_said_at_once():
    with pytest.raises(InputError, match=r"(?s)demand must be above 0.*train must be at least 0"):
        replace(COSTS, demand=nan, train=-1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: replace(COSTS, batch=0),
        lambda: Cores(count=0),
        lambda: Cores(count=1, contention=1.0),
        lambda: ExchangeCosts(byte_time=-1.0),
        lambda: ExchangeCosts(byte_time=0.0, bandwidth=0.0),
        lambda: Watts(core=nan, device=1.0),
    ],
)
def test_impossible_figures_are_refused(wrong):
    with pytest.raises(InputError, match="must be"):
        wrong()


def test_one_core_slows_nobody():
    assert Cores(count=1, contention=0.5).slowing == 1.0
    assert Cores(count=3, contention=0.5).slowing == 2.0


def test_watts_of_cores_and_devices_add_up():
    assert Watts(core=5.0, device=200.0).drawn(4.0, 0.5) == 120.0
