"""scale: throughput as a function of the number of workers, and where its knee is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from math import inf

from foretrain.cluster.fewer import fewer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.distributions import LogNormal, stretched
from foretrain.errors import InputError
from foretrain.measured.scale_study import ScaleStudy, WholeJob
from foretrain.plan.servers import ASYNCHRONOUS, Aggregation, Servers, Training, Worker
from foretrain.plan.study import Study
from foretrain.queueing.closed import mean_values
from foretrain.queueing.closed_form import (
    BARRIER,
    COMPUTE,
    CORES,
    LINK,
    by_formula,
    closed_network,
    synchronous_rate,
)
from foretrain.queueing.scaled import (
    BestCount,
    ScaleChange,
    Scaled,
    ScaledWorker,
    ScaleKnee,
    ScalePoint,
)
from foretrain.queueing.scaling_findings import scaling_findings, what_if_findings
from foretrain.queueing.served import ServedJob, best_count, served_time, staleness
from foretrain.queueing.servers.simulate import simulate
from foretrain.queueing.servers.tally import SimulatedTraining
from foretrain.search.best_plans import best_plans
from foretrain.step.collectives.network import network
from foretrain.step.estimate import estimate
from foretrain.study.coefficients import DEFAULT

MOSTLY = 0.8
"""Share of a step from which on computing is what takes the time."""


def scale(
    study: ScaleStudy,
    *,
    coefficients: Coefficients = DEFAULT,
    progress: Callable[[int], None] | None = None,
) -> Scaled:
    """How does throughput grow with workers, and where does it stop?

    By formula, by bounds and by an event simulation side by side; with all-reduces of a model, by
    the best plan on every number of nodes.

    Args:
        study: the question.
        coefficients: how well hardware and software do.
        progress: told each number of workers before it is looked at.

    Raises:
        InputError: a worker cannot be priced, or there are too few nodes.
        NoPlanFits: with all-reduces of a model, no plan fits on some number of nodes.
    """
    training, model = study.training, study.model
    if model is not None:
        training = _of_model(study, model, coefficients)
    searched = model if training.aggregation is Aggregation.ALL_REDUCE else None
    points: list[ScalePoint] = []
    for workers in study.workers:
        if progress is not None:
            progress(workers)
        point = (
            _planned(searched, workers, coefficients)
            if searched
            else _simulated(study, training, workers)
        )
        first = points[0] if points else point
        unit = first.throughput / first.workers
        useful = point.throughput / (1.0 + study.waste * staleness(training, workers))
        efficiency = point.throughput / workers / unit
        points.append(replace(point, efficiency=efficiency, useful=useful))
    return Scaled(
        worker=_told(training.worker),
        aggregation=training.aggregation,
        updates=training.updates,
        servers=training.servers,
        points=tuple(points),
        knee=_knee(training),
        bounds=_bounds(training),
        what_ifs=tuple(_what_ifs(training, study.workers[-1])),
        best=_best(study, study.job, training) if study.job else None,
        assumed=study.assumed,
    )


def _told(worker: Worker) -> ScaledWorker:
    return ScaledWorker(
        compute=worker.compute.mean,
        samples=worker.samples,
        pulled=worker.pulled,
        pushed=worker.pushed,
        link=worker.link,
    )


def _simulated(study: ScaleStudy, training: Training, workers: int) -> ScalePoint:
    """What so many workers do, simulated beside what formulas say."""
    found = simulate(
        training,
        workers,
        steps=study.steps,
        seed=study.seed,
        policy=study.policy,
        recorded=study.recorded,
    )
    # Formulas are of phases that do not overlap.
    said = by_formula(training, workers)
    phased = not study.recorded
    return ScalePoint(
        workers=workers,
        throughput=found.throughput,
        low=found.low,
        high=found.high,
        variance=found.variance,
        formula=said.throughput if phased else None,
        most=said.high if phased else None,
        useful=0.0,
        efficiency=1.0,
        step=found.step,
        limit=_limit(found, training),
        utilisation=found.utilisation,
    )


def _limit(found: SimulatedTraining, training: Training) -> str:
    """What keeps workers from doing more: computing, or what they wait for longest beside it.

    Where servers are busy beyond the knee, their busiest part; operations that overlap have no
    phases, so the resource that is used most is named.
    """
    phases, servers = found.phases, training.servers
    if not phases.total:
        name = max(found.utilisation, key=lambda each: found.utilisation[each])
        return COMPUTE if name == "worker compute" else name
    knee = _knee(training)
    if knee is not None and found.workers >= knee.workers:
        return knee.limit
    waits = {
        "links" if servers else LINK: phases.pull + phases.push + phases.exchange,
        CORES: phases.update,
        BARRIER: phases.wait,
    }
    longest = max(waits, key=lambda each: waits[each])
    return COMPUTE if phases.compute >= MOSTLY * phases.total else longest


def _planned(study: Study, workers: int, coefficients: Coefficients) -> ScalePoint:
    """What the best plan on so many nodes does."""
    cluster = fewer(study.cluster, workers * study.cluster.node_devices)
    # As many samples for each worker, however many there are.
    learned = replace(study.workload, global_batch=workers * study.workload.global_batch)
    asked = replace(study, cluster=cluster, workload=learned, offers=(), job=None)
    best = best_plans(asked, coefficients=coefficients, keep=1, trade_offs=False).best.estimate
    parts = {each.name: getattr(best.parts, each.name) for each in fields(best.parts)}
    return ScalePoint(
        workers=workers,
        throughput=best.samples_per_second,
        low=best.samples_per_second * best.step_time / best.step_time_high,
        high=best.samples_per_second * best.step_time / best.step_time_low,
        variance=None,
        formula=None,
        most=None,
        useful=0.0,
        efficiency=1.0,
        step=best.step_time,
        limit=max(parts, key=lambda each: parts[each]),
        utilisation={},
    )


def _of_model(study: ScaleStudy, model: Study, coefficients: Coefficients) -> Training:
    """The training in which a worker, one node, does what an estimate says of it.

    Its optimizer works on the servers, and its gradients leave the node once.
    """
    cluster, training = model.cluster, study.training
    servers = training.servers
    apart = servers.count if servers and not servers.colocated else 0
    needed = study.workers[-1] + apart
    if needed > cluster.nodes:
        raise InputError(
            f"{study.workers[-1]} workers"
            + (f" and {apart} servers" if apart else "")
            + f" need {needed} nodes; cluster.nodes is {cluster.nodes}. Ask for fewer workers or"
            " have more nodes."
        )
    if training.aggregation is Aggregation.ALL_REDUCE:
        return training
    alone = replace(model, cluster=fewer(cluster, cluster.node_devices), offers=(), job=None)
    found = estimate(alone, coefficients=coefficients, played=False)
    outer = network(cluster, coefficients).wires[-1]
    link = outer.share * outer.below
    learned = model.workload
    trained = sum(layer.repeats * layer.trainable for layer in learned.model.layers)
    seconds = found.step_time - found.parts.update - found.parts.input
    # From pass to pass and from device to device: without it, equal workers would meet for ever.
    known = coefficients
    spread = known.picture_steps.straggling if learned.model.dimensions else known.step.spread
    worker = Worker(
        compute=LogNormal(mean=seconds, deviation=spread * seconds),
        samples=float(learned.global_batch),
        pulled=trained * learned.precision.value_bytes,
        pushed=trained * learned.gradients.wire_bytes,
        link=link,
    )
    if servers is not None:
        servers = replace(servers, link=link if servers.link == 1.0 else servers.link)
    return replace(training, worker=worker, servers=servers)


def _knee(training: Training) -> ScaleKnee | None:
    """Where workers begin to wait at the servers: none where there are none of their own."""
    if training.servers is None or training.servers.colocated:
        return None
    found = closed_network(training)
    if found.bottleneck is None:
        return None
    samples = training.worker.samples
    return ScaleKnee(
        workers=found.knee, limit=found.bottleneck, throughput=found.capacity * samples
    )


def _bounds(training: Training) -> Mapping[str, float]:
    """What no number of workers exceeds, by the resource that sets it."""
    if training.servers is None or training.servers.colocated:
        return {}
    seconds = closed_network(training).least_seconds
    samples = training.worker.samples
    return {name: samples / each for name, each in seconds.items() if each > 0}


def _best(study: ScaleStudy, job: WholeJob, training: Training) -> BestCount:
    """On how many nodes the whole job ends first, and what limits it."""
    most = study.workers[-1]
    served = ServedJob(
        start=job.start,
        training=training,
        data=job.data,
        epochs=job.epochs,
        cores=job.cores,
        held=job.held,
        waste=study.waste,
    )

    @cache
    def steps(asked: Training) -> Sequence[float]:
        return _steps_by_formula(asked, most)

    def step(asked: Training, workers: int) -> float:
        return steps(asked)[workers - 1]

    nodes = best_count(served, most=most, step=step)
    time = served_time(served, nodes=nodes, step=step)
    limits = scaling_findings(served, most=most, step=step)
    helps = what_if_findings(served, most=most, step=step)
    return BestCount(
        nodes=nodes,
        seconds=float(time.total),
        start=float(time.start.total),
        findings=(*limits, *helps),
    )


def _steps_by_formula(training: Training, most: int) -> Sequence[float]:
    """Seconds of a step of each of 1, 2, ... workers; without a formula, those of the bound."""
    counts = range(1, most + 1)
    if training.updates.stale is None:
        rates = mean_values(closed_network(training), most).throughput
        return [workers / rate for workers, rate in zip(counts, rates.tolist(), strict=True)]
    backup, samples = training.updates.backup, training.worker.samples
    if training.updates.stale == 0 and not backup:
        return [workers / synchronous_rate(training, workers, exact=0) for workers in counts]
    # Fewer workers than are waited for train nothing.
    return [
        (workers - backup) * samples / by_formula(training, workers).high
        if workers > backup
        else inf
        for workers in counts
    ]


def _what_ifs(training: Training, workers: int) -> Iterator[ScaleChange]:
    """One change each, the most helpful first; only where servers are."""
    if training.servers is None or training.servers.colocated:
        return
    before = by_formula(training, workers).throughput
    found = [
        _change(name, changed, workers, before=before)
        for name, changed in _changes(training, training.servers)
    ]
    yield from sorted(found, key=lambda each: -(each.gain or 0.0))


def _change(name: str, changed: Training, workers: int, *, before: float | None) -> ScaleChange:
    rate, knee = by_formula(changed, workers).throughput, _knee(changed)
    return ScaleChange(
        change=name,
        knee=knee.workers if knee else None,
        throughput=rate,
        gain=rate / before - 1.0 if rate is not None and before is not None else None,
    )


def _changes(training: Training, servers: Servers) -> Iterator[tuple[str, Training]]:
    """What could be changed, and the training then."""
    worker = training.worker
    yield (
        "twice the servers",
        replace(training, servers=replace(servers, count=2 * servers.count)),
    )
    halved = replace(worker, pulled=worker.pulled / 2.0, pushed=worker.pushed / 2.0)
    yield "half the bytes", replace(training, worker=halved)
    longer = stretched(worker.compute, 2.0)
    larger = replace(worker, samples=2.0 * worker.samples, compute=longer)
    yield "twice the batch of a worker", replace(training, worker=larger)
    if closed_network(training).bottleneck == CORES:
        more = replace(servers, cores=2 * servers.cores)
        yield "twice the cores of a server", replace(training, servers=more)
    if training.updates.stale is not None:
        yield (
            "asynchronous updates (other weights: stale gradients)",
            replace(training, updates=ASYNCHRONOUS),
        )
