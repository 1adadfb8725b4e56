"""Money and energy: both grow with time and with what is rented."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.cluster.cluster import Power, cost, energy
from foretrain.study.catalogue import cluster

CLUSTER = cluster("dgx-a100", nodes=4)


def test_an_hour_of_thirty_two_devices_costs_their_price():
    assert cost(CLUSTER, 3600.0, devices=32) == pytest.approx(32 * 5.12)


def test_an_hour_of_four_nodes_takes_their_rated_power():
    assert energy(CLUSTER, 3600.0, devices=32) == 4 * 6500 * 3600


def test_building_adds_its_share_to_every_joule():
    housed = replace(CLUSTER, power=Power(pue=1.25))
    bare = energy(CLUSTER, 3600.0, devices=32)
    assert energy(housed, 3600.0, devices=32) == pytest.approx(1.25 * bare)
    assert cost(housed, 3600.0, devices=32) == cost(CLUSTER, 3600.0, devices=32)


def test_only_the_devices_that_a_plan_uses_are_paid_for():
    assert cost(CLUSTER, 1.0, devices=32) == pytest.approx(4 * cost(CLUSTER, 1.0, devices=8))
    assert energy(CLUSTER, 1.0, devices=32) == 4 * energy(CLUSTER, 1.0, devices=8)


def test_column_of_plans_is_priced_as_each_plan_alone():
    seconds, devices = np.array([1.0, 2.0, 3.5]), np.array([8.0, 16.0, 32.0])
    for price in (cost, energy):
        alone = [price(CLUSTER, s, devices=d) for s, d in zip(seconds, devices, strict=True)]
        assert price(CLUSTER, seconds, devices=devices).tolist() == alone


def test_what_has_no_price_has_no_cost():
    unknown = replace(CLUSTER, price=None, node_power=None)
    assert cost(unknown, 1.0, devices=8) is energy(unknown, 1.0, devices=8) is None
