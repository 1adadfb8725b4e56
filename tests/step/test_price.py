"""Money and energy: both grow with time and with what is rented."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.cluster.cluster import Power, cost, energy
from foretrain.errors import InputError
from foretrain.study.catalogue import cluster

CLUSTER = cluster("dgx-a100", nodes=4)


def loaded(cluster, seconds, *, devices):
    """Joules of devices that compute all the time."""
    return energy(cluster, seconds, computing=seconds, devices=devices)


def test_an_hour_of_thirty_two_devices_costs_their_price():
    assert cost(CLUSTER, 3600.0, devices=32) == pytest.approx(32 * 5.12)


def test_an_hour_of_four_nodes_takes_their_rated_power():
    assert loaded(CLUSTER, 3600.0, devices=32) == 4 * 6500 * 3600


def test_building_adds_its_share_to_every_joule():
    housed = replace(CLUSTER, power=Power(pue=1.25))
    bare = loaded(CLUSTER, 3600.0, devices=32)
    assert loaded(housed, 3600.0, devices=32) == pytest.approx(1.25 * bare)
    assert cost(housed, 3600.0, devices=32) == cost(CLUSTER, 3600.0, devices=32)


def test_only_the_devices_that_a_plan_uses_are_paid_for():
    assert cost(CLUSTER, 1.0, devices=32) == pytest.approx(4 * cost(CLUSTER, 1.0, devices=8))
    assert loaded(CLUSTER, 1.0, devices=32) == 4 * loaded(CLUSTER, 1.0, devices=8)


def test_column_of_plans_is_priced_as_each_plan_alone():
    seconds, devices = np.array([1.0, 2.0, 3.5]), np.array([8.0, 16.0, 32.0])
    for price in (cost, loaded):
        alone = [price(CLUSTER, s, devices=d) for s, d in zip(seconds, devices, strict=True)]
        assert price(CLUSTER, seconds, devices=devices).tolist() == alone


def test_what_has_no_price_has_no_cost():
    unknown = replace(CLUSTER, price=None, node_power=None)
    assert cost(unknown, 1.0, devices=8) is loaded(unknown, 1.0, devices=8) is None


def test_node_that_waits_draws_what_it_draws_idle():
    stated = replace(CLUSTER, power=Power(idle=1500.0))
    assert energy(stated, 3600.0, computing=0.0, devices=8) == 1500 * 3600


def test_devices_that_wait_spare_the_node_what_they_draw_less():
    """A100s are rated at 400 W and draw 60 W idle; hosts and fans stay as they are."""
    half = energy(CLUSTER, 2.0, computing=1.0, devices=8)
    assert half == pytest.approx(2 * 6500 - 8 * (400 - 60))


def test_node_of_which_nobody_knows_more_draws_its_full_load():
    bare = replace(CLUSTER, device=replace(CLUSTER.device, idle_power=None))
    assert energy(bare, 2.0, computing=1.0, devices=8) == 2 * 6500


def test_waiting_never_saves_more_than_devices_draw():
    for name in ("dgx-h100", "dgx-a100", "dgx-b200"):
        it = cluster(name, nodes=4)
        assert 0 < it.waiting <= it.node_power


def test_node_cannot_draw_more_idle_than_at_full_load():
    with pytest.raises(InputError, match=r"power\.idle must be at most the node_power of 6500"):
        replace(CLUSTER, power=Power(idle=7000.0))
