"""A few networks of fixed seeds on all engines; and that what is wrong is found."""

from dataclasses import replace
from random import Random

import pytest
from tests.needs import needs
from validation.queues.engines import ENGINES, PlayedNetwork
from validation.queues.networks import (
    BATCHES,
    NETWORKS,
    Measured,
    allowed,
    drawn,
    judged,
    measured,
    played,
    theory,
)

from foretrain.distributions import Exponential
from foretrain.queueing.birth_death import machine_repair

needs("simpy")
needs("ciw")

SHARE = 0.05
"""Of the cycles of the script."""


@pytest.fixture(scope="module")
def few():
    """Theory and short runs of three networks."""
    random = Random(4)
    networks = [drawn(random) for _ in range(3)]
    runs = [played(network, seed=place, share=SHARE) for place, network in enumerate(networks)]
    return [theory(network) for network in networks], runs


def missed(theories, runs):
    return [claim.name for claim in judged(theories, runs) if claim.kept is False]


def test_three_networks_agree_on_all_engines_but_for_wide_intervals(few):
    assert all("widest" in name for name in missed(*few))


def test_a_formula_that_is_wrong_by_five_percent_is_found_even_by_short_runs(few):
    theories, runs = few
    wrong = missed([1.05 * each for each in theories], runs)
    assert {name.split(":")[0] for name in wrong} >= {
        f"mean-value analysis and {name}" for name in ("ours", "SimPy")
    }


def test_a_formula_that_is_wrong_by_one_percent_everywhere_is_found_by_twenty_networks():
    """Runs as long as the script's have standard errors of about 0.4 %."""
    random = Random(1)

    def run(mean):
        return {name: Measured(random.gauss(mean, 0.004), 0.004) for name in ENGINES}

    runs = [run(1.0) for _ in range(NETWORKS)]
    assert not missed([1.0] * NETWORKS, runs)
    wrong = missed([1.01] * NETWORKS, runs)
    assert sum("common deviation" in name for name in wrong) == len(ENGINES)


def test_one_engine_that_is_wrong_in_a_few_networks_is_found():
    right = dict.fromkeys(ENGINES, Measured(1.0, 0.004))
    wrong = {**right, "ours": Measured(1.02, 0.004)}
    found = missed([1.0] * NETWORKS, [right] * (NETWORKS - 4) + [wrong] * 4)
    assert {name.split(":")[0] for name in found} == {
        "mean-value analysis and ours", "ours and SimPy", "ours and Ciw"
    }  # fmt: skip


def test_chance_is_allowed_its_misses_and_no_more():
    """Of twenty intervals of 99 % three miss once in a thousand runs; of two, both in 10,000."""
    assert [allowed(count) for count in (1, 2, 20, 200)] == [1, 1, 2, 7]


def test_batches_count_cycles_after_the_warm_up():
    found = measured([0.1 * number for number in range(1, 1001)], until=100.0)
    assert found.mean == pytest.approx(10.0, rel=0.01)
    assert found.error < 0.1
    assert BATCHES == 20


def test_a_network_of_several_servers_is_machine_repair():
    network = PlayedNetwork(
        thinking=Exponential(mean=1.0), services=(0.5,), servers=(2,), customers=6
    )
    repaired = machine_repair(6, running=1.0, repair=0.5, repairers=2)
    assert theory(network) == pytest.approx(repaired.throughput, rel=1e-9)
    assert theory(replace(network, servers=(6,))) == pytest.approx(4.0, rel=1e-9)
