"""Money and energy: both grow with time and with what is rented."""

from dataclasses import replace

import pytest

from foretrain.cluster.power import Power
from foretrain.cost.price import cost, energy
from foretrain.files.catalogue import cluster

SMALL, LARGE = (cluster("dgx-a100", nodes=nodes) for nodes in (1, 4))


def test_an_hour_of_thirty_two_devices_costs_their_price():
    assert cost(LARGE, 3600.0) == pytest.approx(32 * 5.12)


def test_an_hour_of_four_nodes_takes_their_rated_power():
    assert energy(LARGE, 3600.0) == 4 * 6500 * 3600


def test_building_adds_its_share_to_every_joule():
    housed = replace(LARGE, power=Power(pue=1.25))
    assert energy(housed, 3600.0) == pytest.approx(1.25 * energy(LARGE, 3600.0))
    assert cost(housed, 3600.0) == cost(LARGE, 3600.0)


def test_four_nodes_cost_and_draw_four_times_as_much():
    assert cost(LARGE, 1.0) == pytest.approx(4 * cost(SMALL, 1.0))
    assert energy(LARGE, 1.0) == 4 * energy(SMALL, 1.0)


def test_what_has_no_price_has_no_cost():
    unknown = replace(SMALL, price=None, node_power=None)
    assert cost(unknown, 1.0) is energy(unknown, 1.0) is None
