"""Training with many workers, event by event: what throughput comes out?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Protocol

from foretrain.errors import InputError
from foretrain.events import Events
from foretrain.measured.scale_study import FEWEST_STEPS, RecordedStep
from foretrain.plan.servers import Aggregation, LinkPolicy, Training
from foretrain.queueing.servers.coarse import PeerWorker, PhasedWorker, Steps
from foretrain.queueing.servers.fine import GraphWorker, step_graph
from foretrain.queueing.servers.gate import gate
from foretrain.queueing.servers.peers import Pairs, Peers, Ring
from foretrain.queueing.servers.policies import FIRST_WINDOW
from foretrain.queueing.servers.sides import Colocated, OwnNodes, ServerSide
from foretrain.queueing.servers.spans import Context, Recording
from foretrain.queueing.servers.tally import SimulatedTraining, Tally


class SimulatedWorker(Protocol):
    """A worker, for whoever lets it go on.

    Attributes:
        under_way: whether it is in a step.
    """

    under_way: bool

    def begin(self) -> None:
        """Begin a step."""
        ...

    def leave(self) -> None:
        """Leave the step for good; what is on its way goes on."""
        ...


def simulate(
    training: Training,
    workers: int,
    *,
    steps: int,
    seed: int,
    policy: LinkPolicy = LinkPolicy.FAIR,
    window: float = FIRST_WINDOW,
    recorded: Sequence[RecordedStep] = (),
    recording: Recording | None = None,
    progress: Callable[[int], None] | None = None,
) -> SimulatedTraining:
    """What do so many workers achieve?

    Args:
        training: what each does in a step, with whom.
        workers: how many, at least 1, and more than there are backups.
        steps: of each worker on average, at least 40.
        seed: equal seeds give equal histories.
        policy: of the servers' links.
        window: bytes of the first window of a message, where the policy has windows.
        recorded: steps whose operations are replayed, one drawn at random each time, instead of
            the phases of the worker and the servers' update.
        recording: takes what every resource did, for a trace.
        progress: told now and then how many steps of all workers have ended.

    A tenth of the steps warms up. The interval is one of 95 %, by batch means.

    Source: law2015, section 9.5.3.
    """
    _check(training, workers, steps=steps, window=window, policy=policy, recorded=bool(recorded))
    events, random = Events(), Random(seed)
    context = Context(
        events=events, workers=workers, policy=policy, window=window, recording=recording
    )
    together = workers - training.updates.backup
    tally = Tally(events, steps=steps * together, told=progress)

    def start(index: int) -> None:
        if members[index].under_way:
            members[index].leave()
            members[index] = make(index)
        if not tally.over:
            members[index].begin()

    shared = Steps(
        context=context,
        tally=tally,
        training=training,
        draw=partial(training.worker.compute.draw, random),
        finish=gate(training.updates, workers=workers, start=start).finish,
    )
    make, used = _members(shared, random, recorded)
    members = [make(index) for index in range(workers)]
    for index in range(workers):
        start(index)
    events.run()
    seconds = events.now
    computed = tally.computed / (workers * seconds)
    return tally.result(
        workers=workers,
        together=together,
        samples=training.worker.samples,
        utilisation={"worker compute": computed, **used(seconds)},
    )


def _members(
    shared: Steps, random: Random, recorded: Sequence[RecordedStep]
) -> tuple[Callable[[int], SimulatedWorker], Callable[[float], Mapping[str, float]]]:
    """What makes a worker, and what tells how much of links and cores was used."""
    training, context = shared.training, shared.context
    if training.servers is None:
        ring = training.aggregation is Aggregation.ALL_REDUCE
        peers: Peers = (
            Ring(training, context) if ring else Pairs(training, context, pick=random.randrange)
        )
        return lambda index: PeerWorker(index, shared, peers), peers.used
    side: ServerSide
    if training.servers.colocated:
        side = Colocated(training.servers, training.worker, context)
    else:
        # What a step that was left has begun to send goes on beside the next step's.
        several = bool(recorded or training.updates.backup)
        side = OwnNodes(training, context, messages=several)
    if not recorded:
        return lambda index: PhasedWorker(index, shared, side), side.used
    draw_graph = partial(random.choice, [step_graph(step) for step in recorded])
    return lambda index: GraphWorker(index, shared, side, draw_graph=draw_graph), side.used


def _check(
    training: Training,
    workers: int,
    *,
    steps: int,
    window: float,
    policy: LinkPolicy,
    recorded: bool,
) -> None:
    if not workers > training.updates.backup:
        raise InputError(
            f"workers must be at least 1 and more than backup, {training.updates.backup},"
            f" got {workers}."
        )
    step, servers = training.worker, training.servers
    beside = servers.update + servers.latency if servers else training.latency
    if not recorded and not step.compute.mean + step.pulled + step.pushed + beside > 0:
        raise InputError("a worker takes no time for a step; give it a time above 0 s.")
    if not steps >= FEWEST_STEPS:
        raise InputError(f"steps must be at least {FEWEST_STEPS}, got {steps}.")
    if not window > 0:
        raise InputError(f"window must be above 0 B, got {window}.")
    if policy is LinkPolicy.BUFFERED and recorded:
        raise InputError(
            "policy = 'buffered' takes one message of a worker at a time, so no recorded"
            " operations. Take 'fair' for them."
        )
    if training.servers is None and (recorded or training.updates.backup):
        raise InputError(
            f"aggregation = '{training.aggregation}' takes neither recorded operations nor backup"
            " workers; those are for servers."
        )
