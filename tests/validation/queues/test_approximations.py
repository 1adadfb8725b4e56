"""How near approximations come: shards that are joined, and service in turn of equal length."""

from random import Random

import pytest
from validation.queues.played import Away, Forked, InTurn, cycles, responses
from validation.queues.theory import exponential

from foretrain.events import Events
from foretrain.queueing.closed import ClosedNetwork, mean_values, residual_mean_values
from foretrain.queueing.fork_join import fork_join_means, fork_join_response
from foretrain.statistics import batch_means

CYCLES = 20_000
"""Of a simulation, whose throughput is then sure to half a percent or so."""


def rate(customers, draws, *, about):
    """Cycles per second of customers who think for 1 s and pass stations; lists are forked."""
    events, random, until = Events(), Random(9), CYCLES / about

    def station(draw):
        if isinstance(draw, list):
            return Forked([InTurn(events, each, random) for each in draw])
        return InTurn(events, draw, random)

    places = [Away(events, exponential(1.0), random), *map(station, draws)]
    ends = cycles(events, places, customers=customers, until=until)
    return sum(end > 0.05 * until for end in ends) / (0.95 * until)


@pytest.mark.parametrize(("servers", "below"), [(2, 0.02), (8, 0.045)])
@pytest.mark.parametrize("customers", [2, 11, 32])
def test_closed_fork_join_is_a_little_below_simulation(customers, servers, below):
    network = ClosedNetwork(think=1.0, demands={"servers": 0.1})
    found = fork_join_means(network, customers, shards={"servers": servers}).throughput[-1]
    simulated = rate(customers, [[exponential(0.1)] * servers], about=found)
    assert -below <= found / simulated - 1.0 <= 0.01


@pytest.mark.parametrize("servers", [4, 16])
def test_open_fork_join_is_within_five_percent_of_simulation(servers):
    events, random = Events(), Random(3)
    forked = Forked([InTurn(events, exponential(1.0), random) for _ in range(servers)])
    spent = responses(events, forked, arrivals=0.6, jobs=12_000, random=random)
    mean = batch_means(spent, batches=1, skip=0.05)[0]
    assert fork_join_response(0.6, mean=1.0, servers=servers) == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(("customers", "within"), [(4, 0.02), (9, 0.06), (24, 0.02)])
def test_equal_service_at_two_stations_is_nearer_than_exponential_up_to_the_knee(customers, within):
    network = ClosedNetwork(think=1.0, demands={"up": 0.1, "update": 0.06})
    equal = {"up": 0.0, "update": 0.0}
    found = residual_mean_values(network, customers, variations=equal).throughput[-1]
    simulated = rate(customers, [lambda _: 0.1, lambda _: 0.06], about=found)
    assert found == pytest.approx(simulated, rel=within)
    if customers < network.knee:
        plain = mean_values(network, customers).throughput[-1]
        assert abs(found - simulated) < abs(plain - simulated)
