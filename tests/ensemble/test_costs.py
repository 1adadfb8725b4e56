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
        lambda: Watts(core=1.0, device=1.0, most=0.0),
        lambda: Watts(core=1.0, device=1.0, running=-1.0),
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


def test_a_node_at_work_draws_something_however_busy_it_is_and_no_more_than_its_cap():
    watts = Watts(core=5.0, device=200.0, running=80.0, most=190.0)
    assert watts.drawn(0.0, 0.0) == 80.0
    assert watts.drawn(4.0, 0.4) == 180.0
    assert watts.drawn(16.0, 1.0) == 190.0


def test_cores_slow_each_other_as_far_as_they_are_in_use():
    cores = Cores(count=3, contention=0.5)
    assert [cores.slowed(busy) for busy in (0.2, 1.0, 1.5, 3.0, 7.0)] == [1.0, 1.0, 1.25, 2.0, 2.0]
