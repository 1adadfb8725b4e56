"""Settings that tests of pipelines share: round figures, nothing slower than it must be."""

from hypothesis import strategies as some

from foretrain.ensemble.across_nodes import AcrossNodes
from foretrain.ensemble.costs import Cores, ExchangeCosts, MeasuredCosts, Watts

COSTS = MeasuredCosts(demand=100.0, prepare=0.04, train=0.004, sample_bytes=1e6, batch=32)
FREE = ExchangeCosts(byte_time=0.0)
WATTS = Watts(core=5.0, device=200.0)


def nodes_of(nodes, *, costs=COSTS, cores=8, contention=0.0, exchange=FREE, watts=WATTS):
    return AcrossNodes(
        nodes=nodes,
        costs=costs,
        cores=Cores(count=cores, contention=contention),
        exchange=exchange,
        watts=watts,
    )


def sizes(low, high):
    """Numbers from one size to another."""
    return some.floats(low, high, allow_nan=False)


@some.composite
def any_costs(draw):
    demand = draw(sizes(20, 2000))
    train = draw(sizes(0.05, 1.0)) / demand
    return MeasuredCosts(
        demand=demand,
        prepare=train * draw(sizes(0.3, 30)),
        train=train,
        sample_bytes=draw(sizes(1e4, 1e6)),
        batch=draw(some.sampled_from([16, 64])),
    )


@some.composite
def any_nodes(draw):
    exchange = ExchangeCosts(byte_time=draw(sizes(0, 2e-9)), bandwidth=draw(sizes(1e8, 1e11)))
    return AcrossNodes(
        nodes=draw(some.integers(1, 64)),
        costs=draw(any_costs()),
        cores=Cores(count=draw(some.integers(1, 32)), contention=draw(sizes(0, 0.1))),
        exchange=exchange,
    )
