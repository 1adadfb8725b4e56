"""What one random run is: a stream, its readers, and what is done to them when."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

READERS = 6
"""Readers of a run, at most."""

ROLES = ("reader", "worker", "template", "conductor", "owner")
"""Who can be hit; a feeder is the worker of a stream that a loader feeds, and the template is what
both are forked from."""

POLICIES = ("block", "block", "detach", "spill", "drop")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One reader.

    Attributes:
        batch: samples that it takes at a time.
        policy: what happens when others would wait for it.
        pause: seconds that it trains on a batch, on average.
        keeps: batches that it goes on referring to.
        reconnects: whether its loader waits for a stream that died, or it attaches anew itself.
        returns: whether it is started again after it was killed.
        start: where it begins; all but the first may come late.
        late: seconds after the start at which it comes.
    """

    batch: int
    policy: str
    pause: float
    keeps: int
    reconnects: bool
    returns: bool
    start: str
    late: float


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that happens to one process.

    Attributes:
        after: seconds from the start.
        role: one of `ROLES`.
        which: among those of that role, counted round.
        kills: kill -9, or stop it for two seconds.
    """

    after: float
    role: str
    which: int
    kills: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run.

    Attributes:
        name: of the stream.
        seed: that everything is drawn from.
        fed: whether a DataLoader feeds the stream, or its own workers do.
        samples: of an epoch.
        epochs: of every reader.
        workers: decode processes, or the loader's own.
        slots: samples that the arena holds, about.
        loader_batch: samples of a batch of the loader.
        parts: the readers.
        faults: in the order of time.
        drawn: whether readers seed PyTorch, and the order of a loader is what they draw.
    """

    name: str
    seed: int
    fed: bool
    samples: int
    epochs: int
    workers: int
    slots: int
    loader_batch: int
    parts: tuple[Part, ...]
    faults: tuple[Fault, ...]
    drawn: bool


def draw(seed: int, *, name: str) -> Plan:
    """A run, the same for the same seed."""
    random = Random(seed)
    fed = random.random() < 0.4
    together = random.random() < 0.3
    readers = 3 if together else random.randint(1, READERS)
    batches = (
        (10, 15, 25) if together else [random.choice([1, 4, 7, 16, 48]) for _ in "x" * readers]
    )
    return Plan(
        name=name,
        seed=seed,
        fed=fed,
        samples=random.randint(20, 300),
        epochs=random.randint(1, 3),
        workers=random.randint(0, 1) if fed else random.randint(1, 3),
        slots=random.choice([3, 12, 60, 60, 600]),
        loader_batch=random.choice([1, 10, 32]),
        parts=tuple(_part(random, batch, fed=fed, index=n) for n, batch in enumerate(batches)),
        faults=_faults(random),
        drawn=fed and random.random() < 0.5,
    )


def _part(random: Random, batch: int, *, fed: bool, index: int) -> Part:
    late = random.random() < 0.15 and index > 0
    return Part(
        batch=batch,
        policy=random.choice([each for each in POLICIES if not (fed and each == "detach")]),
        pause=random.choice([0.0, 0.0005, 0.003]) * batch,
        keeps=random.choice([0, 0, 1, 4, 10**6]),
        reconnects=random.random() < 0.5,
        returns=random.random() < 0.7,
        start=random.choice(["epoch", "now", "next"]) if late else "epoch",
        late=random.uniform(0.1, 0.8) if late else 0.0,
    )


def _faults(random: Random) -> tuple[Fault, ...]:
    faults = [
        Fault(
            after=random.uniform(0.0, 1.5),
            role=random.choice(ROLES),
            which=random.randrange(READERS),
            kills=random.random() < 0.7,
        )
        for _ in range(random.randint(1, 4))
    ]
    return tuple(sorted(faults, key=lambda fault: fault.after))
