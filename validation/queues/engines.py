"""The same closed network on three engines: our event kernel, SimPy and Ciw.

Each tells when cycles ended; thinking has any distribution, service is exponential at stations of
one or more servers, first come first served.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from random import Random

from validation.queues.played import Away, InTurn, cycles

from foretrain.distributions import Distribution
from foretrain.events import Events
from foretrain.queueing.birth_death import shared_pace
from foretrain.queueing.closed import ClosedNetwork


@dataclass(frozen=True, kw_only=True)
class PlayedNetwork:
    """A closed network with laws and servers, as engines play it.

    Attributes:
        thinking: seconds away from all stations.
        services: mean seconds of exponential service at each station.
        servers: of each station.
        customers: who go round.
    """

    thinking: Distribution
    services: tuple[float, ...]
    servers: tuple[int, ...]
    customers: int

    @property
    def formula(self) -> ClosedNetwork:
        """The same for the formulas, which need but means."""
        names = [str(place) for place in range(len(self.services))]
        return ClosedNetwork(
            think=self.thinking.mean,
            demands=dict(zip(names, self.services, strict=True)),
            paces={
                name: shared_pace(count)
                for name, count in zip(names, self.servers, strict=True)
                if count > 1
            },
        )

    def __str__(self) -> str:
        stations = ", ".join(
            f"{service:.3g} s on {count}"
            for service, count in zip(self.services, self.servers, strict=True)
        )
        law = type(self.thinking).__name__
        return f"{self.customers} customers, {law} {self.thinking.mean:.3g} s, {stations}"


def on_kernel(network: PlayedNetwork, *, until: float, seed: int) -> list[float]:
    """Ends of cycles on our event kernel, in seconds."""
    events, random = Events(), Random(seed)
    stations = [
        InTurn(
            events,
            lambda random, service=service: random.expovariate(1.0 / service),
            random,
            servers=count,
        )
        for service, count in zip(network.services, network.servers, strict=True)
    ]
    places = [Away(events, network.thinking.draw, random), *stations]
    return cycles(events, places, customers=network.customers, until=until)


def on_simpy(network: PlayedNetwork, *, until: float, seed: int) -> list[float]:
    """Ends of cycles on SimPy, in seconds."""
    import simpy

    environment, random, ends = simpy.Environment(), Random(seed), list[float]()
    stations = [
        (simpy.Resource(environment, capacity=count), 1.0 / service)
        for service, count in zip(network.services, network.servers, strict=True)
    ]

    def customer():  # noqa: ANN202 - SimPy types its generators by itself
        while True:
            yield environment.timeout(network.thinking.draw(random))
            for station, rate in stations:
                with station.request() as turn:
                    yield turn
                    yield environment.timeout(random.expovariate(rate))
            ends.append(environment.now)

    for _ in range(network.customers):
        environment.process(customer())
    environment.run(until=until)
    return ends


def on_ciw(network: PlayedNetwork, *, until: float, seed: int) -> list[float]:
    """Ends of cycles on Ciw, in seconds.

    Ciw's networks are open: here all customers arrive at once, and nobody else ever does.
    """
    import ciw

    class Thinking(ciw.dists.Distribution):
        """Our distribution, drawn from a generator of its own."""

        random = Random(seed)

        def sample(self, t: float | None = None, ind: object = None) -> float:
            return network.thinking.draw(self.random)

    stations = len(network.services)
    described = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([0.0, inf]), *[None] * stations],
        batching_distributions=[
            ciw.dists.Deterministic(network.customers),
            *[ciw.dists.Deterministic(1)] * stations,
        ],
        service_distributions=[
            Thinking(),
            *[ciw.dists.Exponential(1.0 / service) for service in network.services],
        ],
        number_of_servers=[inf, *network.servers],
        routing=[
            [float(to == (place + 1) % (stations + 1)) for to in range(stations + 1)]
            for place in range(stations + 1)
        ],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(described)
    simulation.simulate_until_max_time(until)
    records = simulation.get_all_records()
    return [record.exit_date for record in records if record.node == stations + 1]


Played = Callable[..., list[float]]

ENGINES: Mapping[str, Played] = {"ours": on_kernel, "SimPy": on_simpy, "Ciw": on_ciw}
