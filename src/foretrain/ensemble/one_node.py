"""One node with K members, and the forecast of how long they take on it.

One node with K members: loaders of their own, or one stream that all of them read.

Per sample of the stream, K members and the cores that they share:

    a loader each, no worker     CPU  K (prepare + train)
    a loader each with workers   CPU  K (prepare + hand + train)
    one stream                   CPU  prepare into a slot + K (deliver + train)

With nothing lost on the way the last saves the first by (k + 1)/(k/K + 1), k = prepare/train.

Where several processes are runnable on fewer cores, each gets an equal share. A batch that is ready
wakes all who read it: beside eight of them a worker on two cores gets a fifth of a core until they
have trained, and then they wait for it while the other core idles. Not so where the kernel deals
cores out to sessions first (autogroups of Linux): a stream's processes are a session of their own.

A forecast: how long an ensemble takes on one node, and what of the machine, before it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import fsum
from statistics import fmean

from foretrain.ensemble.costs import Cores, MeasuredCosts
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Probed
from foretrain.queueing.fork_join import shared_by


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLoaders:
    """What loaders and the stream add to preparing a sample, and what processes hold.

    Attributes:
        hand: core-seconds in which a worker of a private loader hands on a sample, and the
            member takes it.
        queue: the same of a worker of a DataLoader, which takes new shared memory for each batch.
        store: core-seconds in which a worker of the stream prepares a sample into its slot, all
            bookkeeping included.
        feed: core-seconds in which a sample of a fed loader is copied into its slot.
        deliver: core-seconds in which a reader of the stream is given a sample.
        member_memory: bytes that a member holds beyond what all processes share.
        worker_memory: bytes that a worker process holds.
        arena: bytes of the stream's slots.
        prefetch: batches that each worker of a private loader keeps ready.
    """

    hand: float
    store: float
    feed: float
    deliver: float
    queue: float = 0.0
    member_memory: float = 0.0
    worker_memory: float = 0.0
    arena: float = 0.0
    prefetch: int = 2

    def __post_init__(self) -> None:
        wrong = [
            f"MeasuredLoaders.{each.name} must be at least 0, got {getattr(self, each.name)}."
            for each in fields(self)
            if not getattr(self, each.name) >= 0
        ]
        if wrong:
            raise InputError("\n".join(wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class OnOneNode:
    """K members on one node that are all alike.

    Attributes:
        members: K.
        costs: of a sample, measured.
        loaders: what loaders and the stream add.
        cores: that all processes share.
    """

    members: int
    costs: MeasuredCosts
    loaders: MeasuredLoaders
    cores: Cores

    def __post_init__(self) -> None:
        if not self.members >= 1:
            raise InputError(f"OnOneNode.members must be at least 1, got {self.members}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingEstimate:
    """What one way of loading costs and delivers.

    Attributes:
        name: in words.
        shared: whether members read one stream.
        workers: processes that prepare, of each loader or of the stream.
        cpu: core-seconds per sample of the stream, all members together.
        rate: samples per second that every member trains.
        limit: what keeps it from more: "training", "preparation" or "cores".
        memory: bytes of all processes and the arena.
    """

    name: str
    shared: bool
    workers: int
    cpu: float
    rate: float
    limit: str
    memory: float


def private_loaders(setting: OnOneNode, *, workers: int) -> LoadingEstimate:
    """Every member has a loader of its own.

    Args:
        setting: members, cores and what was measured.
        workers: processes of each loader; with 0 a member prepares between its steps.
    """
    costs, loaders = setting.costs, setting.loaders
    ready = costs.batch * costs.sample_bytes * loaders.prefetch
    holds = loaders.member_memory + workers * (loaders.worker_memory + ready)
    return _estimate(
        setting,
        name=f"private loaders, {workers} worker{'' if workers == 1 else 's'} each",
        shared=False,
        workers=workers,
        work=_SampleWork(
            preparing=costs.prepare + loaders.hand if workers else 0.0,
            preparers=setting.members * workers,
            pipelines=setting.members,
            reading=0.0 if workers else costs.prepare,
        ),
        memory=setting.members * holds,
    )


def data_loaders(setting: OnOneNode, *, workers: int) -> LoadingEstimate:
    """Every member has a DataLoader of its own with so many workers, as without an ensemble."""
    loaders = replace(setting.loaders, hand=setting.loaders.queue)
    private = private_loaders(replace(setting, loaders=loaders), workers=workers)
    return replace(private, name=f"DataLoaders, {workers} worker{'s' * (workers > 1)} each")


def shared_stream(setting: OnOneNode, *, workers: int) -> LoadingEstimate:
    """Members read one stream that has decode workers of its own."""
    loaders = setting.loaders
    if not workers >= 1:
        raise InputError(f"a shared stream needs at least 1 worker, got {workers}.")
    return _estimate(
        setting,
        name=f"shared stream, {workers} worker{'' if workers == 1 else 's'}",
        shared=True,
        workers=workers,
        work=_SampleWork(preparing=loaders.store, preparers=workers, reading=loaders.deliver),
        memory=_stream_memory(setting, workers),
    )


def fed_stream(setting: OnOneNode) -> LoadingEstimate:
    """Members read one stream that an ordinary loader without workers feeds."""
    costs, loaders = setting.costs, setting.loaders
    return _estimate(
        setting,
        name="shared stream, fed by a loader",
        shared=True,
        workers=1,
        work=_SampleWork(
            preparing=costs.prepare + loaders.feed, preparers=1, reading=loaders.deliver
        ),
        memory=_stream_memory(setting, 1),
    )


def _stream_memory(setting: OnOneNode, workers: int) -> float:
    """Bytes of members, of the processes that prepare and of the arena."""
    loaders = setting.loaders
    members = setting.members * loaders.member_memory
    return members + workers * loaders.worker_memory + loaders.arena


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleWork:
    """Core-seconds that a sample of the stream takes, one core at work, and who spends them.

    Attributes:
        preparing: of a pipeline's preparers together; 0 where members prepare.
        preparers: processes that do nothing else, of all pipelines.
        pipelines: that prepare every sample anew.
        reading: of each member, before it trains.
    """

    preparing: float
    preparers: int
    pipelines: int = 1
    reading: float

    @property
    def prepared(self) -> float:
        """Core-seconds of each preparer."""
        return self.preparing * self.pipelines / self.preparers if self.preparers else 0.0


def _estimate(
    setting: OnOneNode, *, name: str, shared: bool, workers: int, work: _SampleWork, memory: float
) -> LoadingEstimate:
    """What a way of loading delivers, where cores that work at once slow each other."""
    costs, cores = setting.costs, setting.cores
    cpu = work.preparing * work.pipelines + setting.members * (work.reading + costs.train)
    alone, _ = _pace(setting, work, slowing=1.0)
    slowing = cores.slowed(cpu / alone)
    seconds, limit = _pace(setting, work, slowing=slowing)
    return LoadingEstimate(
        name=name,
        shared=shared,
        workers=workers,
        cpu=cpu * slowing,
        rate=min(costs.demand, 1.0 / seconds),  # a reciprocal twice may be more
        limit=limit,
        memory=memory,
    )


def _pace(setting: OnOneNode, work: _SampleWork, *, slowing: float) -> tuple[float, str]:
    """Seconds per sample, and what asks for most of them.

    Core-seconds are `slowing` times those of one core at work. A step that takes longer than its
    core-seconds waits for a device, beside which the next batch is read but not prepared; one that
    takes less runs on several cores.
    """
    costs, members, cores = setting.costs, setting.members, setting.cores.count
    threads = members * max(1.0, costs.train * costs.demand)
    own = members * slowing * (work.reading + costs.train)
    prepared, trained = slowing * work.prepared, 1.0 / costs.demand + (slowing - 1.0) * costs.train
    read = slowing * (work.reading + min(costs.train, 1.0 / costs.demand))
    paces = {
        "training": max(trained, read) if work.preparers else trained,
        "preparation": prepared if work.preparers else trained + slowing * work.reading,
        "cores": (work.preparers * prepared + own) / cores,
    }
    limit = max(paces, key=paces.__getitem__)
    kinds = (prepared, work.preparers), (own / threads, threads)
    turns = shared_by(*kinds, cores=cores, grouped=setting.cores.by_session)
    return max(turns, paces[limit]), limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Trains:
    """Members that train at the same time.

    Attributes:
        batches: samples of a step of each, by name.
        epochs: up to which each trains, by name.
        since: the epoch at which all begin.
    """

    batches: Mapping[str, int]
    epochs: Mapping[str, int]
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How members get their samples.

    Attributes:
        shared: whether they read one stream.
        workers: processes that prepare, of the stream or of each member; 0 for between its steps.
        fed: whether a loader feeds the stream.
    """

    shared: bool
    workers: int
    fed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is expected of a run.

    Attributes:
        seconds: from the first sample to the last; None where nobody knows how many there are.
        cpu: core-seconds of all processes, likewise.
        memory: bytes of all processes at once.
        rates: samples per second of each member, by name.
    """

    seconds: float | None
    cpu: float | None
    memory: float
    rates: Mapping[str, float]


def forecast(
    probed: Probed, parts: Sequence[Trains], way: Way, *, cores: int, arena: float
) -> Forecast:
    """What is expected of a run whose parts follow one another.

    Members of a part that have had their epochs leave it, and the others go on without them.

    Args:
        probed: what is known of samples and members; the number of samples too.
        parts: who trains together.
        way: how members get their samples.
        cores: that all share.
        arena: bytes of a stream's slots.
    """
    samples = probed.sample.count
    seconds, cpu, memory, rates = [], [], [], dict[str, float]()
    for part in parts:
        for names, epochs in _stretches(part):
            setting = on_one_node(probed, names, part.batches, cores=cores, arena=arena)
            found = estimated(setting, way)
            seconds.append(epochs / found.rate)
            cpu.append(epochs * found.cpu)
            memory.append(found.memory)
            rates |= {name: found.rate for name in names if name not in rates}
    return Forecast(
        seconds=None if samples is None else samples * fsum(seconds),
        cpu=None if samples is None else samples * fsum(cpu),
        memory=max(memory),
        rates=rates,
    )


def on_one_node(
    probed: Probed,
    names: Sequence[str],
    batches: Mapping[str, int],
    *,
    cores: int,
    arena: float,
) -> OnOneNode:
    """Some members as if all were alike: as slow as the slowest, and of mean cost."""
    costs = [probed.members[name] for name in names]
    sample, handing = probed.sample, probed.handing
    return OnOneNode(
        members=len(names),
        costs=MeasuredCosts(
            demand=min(each.rate for each in costs),
            prepare=sample.prepare + handing.collate,
            train=fmean(each.cpu for each in costs),
            sample_bytes=sample.size,
            batch=max(batches[name] for name in names),
        ),
        loaders=MeasuredLoaders(
            hand=max(0.0, handing.store + handing.deliver - handing.collate),
            store=sample.prepare + handing.store,
            feed=handing.store,
            deliver=handing.deliver,
            queue=handing.queue,
            member_memory=fmean(each.memory for each in costs),
            worker_memory=sample.memory,
            arena=arena,
        ),
        cores=Cores(count=cores, contention=handing.contention, by_session=handing.by_session),
    )


def estimated(setting: OnOneNode, way: Way) -> LoadingEstimate:
    """What is expected of one way of loading."""
    if way.fed:
        return fed_stream(setting)
    ask = shared_stream if way.shared else private_loaders
    return ask(setting, workers=way.workers)


def _stretches(part: Trains) -> list[tuple[list[str], int]]:
    """Who trains between one end of a member and the next, and for how many epochs."""
    found, since = [], part.since
    for end in sorted({*part.epochs.values()}):
        names = [name for name, epochs in part.epochs.items() if epochs >= end]
        if end > since:
            found.append((names, end - since))
            since = end
    return found
