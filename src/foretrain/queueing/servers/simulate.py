"""Training with many workers, event by event: what throughput comes out?"""

from __future__ import annotations

from functools import partial
from random import Random

from foretrain.errors import InputError
from foretrain.events import Events
from foretrain.queueing.servers.coarse import PhasedWorker
from foretrain.queueing.servers.gate import gate
from foretrain.queueing.servers.policies import LinkPolicy
from foretrain.queueing.servers.sides import OwnNodes
from foretrain.queueing.servers.tally import FEWEST, SimulatedTraining, Tally
from foretrain.queueing.training import Training


def simulate(
    training: Training,
    workers: int,
    *,
    steps: int,
    seed: int,
    policy: LinkPolicy = LinkPolicy.FAIR,
) -> SimulatedTraining:
    """What do so many workers achieve?

    Args:
        training: what each does in a step, with whom.
        workers: how many, at least 1, and more than there are backups.
        steps: of each worker on average, at least 40.
        seed: equal seeds give equal histories.
        policy: of the servers' links.
    """
    if not workers > training.updates.backup:
        raise InputError(
            f"workers must be at least 1 and more than backup, {training.updates.backup},"
            f" got {workers}."
        )
    if not steps >= FEWEST:
        raise InputError(f"steps must be at least {FEWEST}, got {steps}.")
    together = workers - training.updates.backup
    assert training.servers
    events, random = Events(), Random(seed)
    tally = Tally(events, steps=steps * together)
    side = OwnNodes(training.servers, training.worker, events=events, policy=policy)

    def start(index: int) -> None:
        if not tally.over:
            members[index].begin()

    turnstile = gate(training.updates, workers=workers, start=start)
    worker = training.worker
    sizes = (worker.pulled, worker.pushed, training.servers.update)
    draw = partial(worker.compute.draw, random)
    members = [
        PhasedWorker(
            index,
            side,
            events=events,
            tally=tally,
            sizes=sizes,
            draw=draw,
            finish=turnstile.finish,
        )
        for index in range(workers)
    ]
    for member in members:
        member.begin()
    events.run()
    return tally.result(workers=workers, together=together, samples=worker.samples, utilisation={})
