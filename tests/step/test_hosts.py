"""Hosts that wait for one another."""

from math import log, sqrt

import pytest

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.hosts import slowest


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
