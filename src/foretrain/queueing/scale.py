"""scale: throughput as a function of the number of workers, and where its knee is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from itertools import count

import numpy as np

from foretrain.cluster.offer import fewer
from foretrain.coefficients.coefficients import Coefficients
from foretrain.distributions import Constant, Distribution, Floats, LogNormal, stretched
from foretrain.errors import InputError
from foretrain.measured.scale_study import ModelTraining, Provisioning, ScaleStudy
from foretrain.plan.servers import ASYNCHRONOUS, Aggregation, Servers, Training, Worker
from foretrain.plan.startup import WholeJob
from foretrain.queueing.barriers import barrier
from foretrain.queueing.closed_form import (
    BARRIER,
    COMPUTE,
    CORES,
    LINK,
    by_formula,
    counted_workers,
    steps_by_formula,
)
from foretrain.queueing.provision import Provision, Provisioned, provisioned
from foretrain.queueing.scaled import (
    BestCount,
    Scaled,
    ScaledProvision,
    ScaledWorker,
    ScaleMethod,
    ScalePoint,
)
from foretrain.queueing.scaling_findings import (
    bounds_of,
    changes_of,
    knee_of,
    scaling_findings,
    what_if_findings,
    what_ifs,
)
from foretrain.queueing.served import Number, best_count, needed, served_time
from foretrain.queueing.servers.simulate import simulate
from foretrain.queueing.servers.tally import SimulatedTraining
from foretrain.search.best_plans import best_plans
from foretrain.step.collectives.network import network
from foretrain.step.estimate import estimate
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.workload import Workload

Told = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""

MOSTLY = 0.8
"""Share of a step from which on computing is what takes the time."""


def scale(
    study: ScaleStudy,
    *,
    coefficients: Coefficients = DEFAULT,
    progress: Told | None = None,
) -> Scaled:
    """How does throughput grow with workers, and where does it stop?

    By formula, by bounds and by an event simulation side by side; with all-reduces of a model, or
    on machines to share out, by the best plan on every number of nodes or machines.

    Args:
        study: the question.
        coefficients: how well hardware and software do.
        progress: told what is done, how much of it, and of how much.

    Raises:
        InputError: a worker cannot be priced, or there are too few nodes.
        NoPlanFits: no plan fits on some number of nodes or machines.
    """
    tell = progress or (lambda _what, _done, _all: None)
    asked, points = study.training, list[ScalePoint]()
    training = _of_model(study, asked, coefficients) if isinstance(asked, ModelTraining) else asked
    planned: Provisioned | None = None
    done, everything = 0, sum(study.workers)

    def since(before: int) -> Callable[[int], None]:
        return lambda ended: tell("workers", before + ended // study.steps, everything)

    for workers in study.workers:
        tell("workers", done, everything)
        fewest = points[0] if points else None
        if isinstance(training, Provisioning):
            planned = provisioned(training, workers)
            points.append(_provisioned(planned.best, training, workers, fewest=fewest))
        elif isinstance(training, ModelTraining):
            points.append(_planned(training, workers, coefficients, fewest=fewest))
        else:
            points.append(_simulated(study, training, workers, fewest=fewest, progress=since(done)))
        done += workers
    tell("workers", done, everything)
    known = training if isinstance(training, Training) else None
    return Scaled(
        method=_method(training),
        worker=_told(known.worker) if known else None,
        aggregation=None if isinstance(training, Provisioning) else training.aggregation,
        updates=ASYNCHRONOUS if isinstance(training, Provisioning) else training.updates,
        servers=_resolved(known) if known else None,
        points=tuple(points),
        knee=knee_of(known) if known else None,
        bounds=bounds_of(known) if known else {},
        what_ifs=tuple(changes_of(known, study.workers[-1])) if known else (),
        best=_best(study.job, known, most=study.workers[-1], tell=tell)
        if study.job and known
        else None,
        provisions=tuple(_provision(each) for each in planned.plans) if planned else (),
        assumed=study.assumed,
    )


def _method(training: Training | ModelTraining | Provisioning) -> ScaleMethod:
    if isinstance(training, Training):
        return ScaleMethod.SIMULATED
    return ScaleMethod.PLANNED if isinstance(training, ModelTraining) else ScaleMethod.PROVISIONED


def _resolved(training: Training) -> Servers | None:
    """The servers with the link that they have."""
    if training.servers is None:
        return None
    return replace(training.servers, link=training.server_link)


def _efficiency(throughput: float, workers: int, fewest: ScalePoint | None) -> float:
    """What a worker does over what one of the fewest does."""
    if fewest is None:
        return 1.0
    return throughput / workers / (fewest.throughput / fewest.workers)


def _told(worker: Worker) -> ScaledWorker:
    return ScaledWorker(
        compute=worker.compute.mean,
        samples=worker.samples,
        pulled=worker.pulled,
        pushed=worker.pushed,
        link=worker.link,
    )


def _simulated(
    study: ScaleStudy,
    training: Training,
    workers: int,
    *,
    fewest: ScalePoint | None,
    progress: Callable[[int], None],
) -> ScalePoint:
    """What so many workers do, simulated beside what formulas say."""
    found = simulate(
        training,
        workers,
        steps=study.steps,
        seed=study.seed,
        policy=study.policy,
        recorded=study.recorded,
        progress=progress,
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
        useful=found.throughput / float(needed(training, workers)),
        efficiency=_efficiency(found.throughput, workers, fewest),
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
    knee = knee_of(training)
    if knee is not None and found.workers >= knee.workers:
        return knee.limit
    waits = {
        "links" if servers else LINK: phases.pull + phases.push + phases.exchange,
        CORES: phases.update,
        BARRIER: phases.wait,
    }
    longest = max(waits, key=lambda each: waits[each])
    return COMPUTE if phases.compute >= MOSTLY * phases.total else longest


def _planned(
    asked: ModelTraining,
    workers: int,
    coefficients: Coefficients,
    *,
    fewest: ScalePoint | None,
) -> ScalePoint:
    """What the best plan on so many nodes does.

    Every step waits for the node that computes longest, by the order statistics of the stragglers
    where they are stated; plans are compared without them, for all wait for them alike.

    Source: david2003, section 2.1.
    """
    model, law = asked.model, asked.stragglers
    cluster = fewer(model.cluster, workers * model.cluster.node_devices)
    # As many samples for each worker, however many there are.
    learned = replace(model.workload, global_batch=workers * model.workload.global_batch)
    alone = replace(model, cluster=cluster, workload=learned, offers=(), job=None)
    known = coefficients if law is None else _in_step(coefficients)
    best = best_plans(alone, coefficients=known, keep=1, trade_offs=False).best.estimate
    parts = {each.name: getattr(best.parts, each.name) for each in fields(best.parts)}
    computing = sum(parts[name] for name in ("forward", "backward", "recompute"))
    late = 0.0 if law is None else computing * (barrier(law, workers=workers).mean - 1.0)
    parts[BARRIER] = late
    step = best.step_time + late
    throughput = best.samples_per_second * best.step_time / step
    return ScalePoint(
        workers=workers,
        throughput=throughput,
        low=throughput * best.step_time / best.step_time_high,
        high=throughput * best.step_time / best.step_time_low,
        variance=None,
        formula=None,
        most=None,
        useful=throughput,
        efficiency=_efficiency(throughput, workers, fewest),
        step=step,
        limit=max(parts, key=lambda each: parts[each]),
        utilisation={},
    )


def _in_step(coefficients: Coefficients) -> Coefficients:
    """Those without stragglers of their own, where a study states its."""
    return replace(
        coefficients,
        step=replace(coefficients.step, spread=0.0),
        picture_steps=replace(coefficients.picture_steps, straggling=0.0),
    )


def _provisioned(
    best: Provision, asked: Provisioning, machines: int, *, fewest: ScalePoint | None
) -> ScalePoint:
    """What the quickest plan on so many machines does."""
    time, replicas = best.time, float(best.replicas)
    parts = {
        COMPUTE: float(time.compute),
        "machines' links": float(time.links),
        "servers' links": float(time.servers),
        "waiting for weights": float(time.exposed),
    }
    useful = asked.samples / float(time.total)
    throughput = useful * (1.0 + asked.waste * (replicas - 1.0))
    return ScalePoint(
        workers=machines,
        throughput=throughput,
        low=throughput,
        high=throughput,
        variance=None,
        formula=throughput,
        most=None,
        useful=useful,
        efficiency=_efficiency(throughput, machines, fewest),
        step=asked.chunk * replicas / throughput,
        limit=max(parts, key=lambda each: parts[each]),
        utilisation={},
    )


def _provision(plan: Provision) -> ScaledProvision:
    return ScaledProvision(
        machines=plan.machines,
        replicas=plan.replicas,
        replica_machines=plan.replica.machines,
        threads=plan.replica.threads,
        servers=plan.servers,
        segments=plan.replica.segments,
        epoch=float(plan.time.total),
    )


def _of_model(
    study: ScaleStudy, asked: ModelTraining, coefficients: Coefficients
) -> Training | ModelTraining:
    """The training in which a worker, one node, does what an estimate says of it.

    Its optimizer works on the servers, and its gradients leave the node once. Plans with
    all-reduces are estimated whole, so of them no worker is known.
    """
    model, servers = asked.model, asked.servers
    cluster, learned = model.cluster, model.workload
    apart = servers.count if servers and not servers.colocated else 0
    nodes = study.workers[-1] + apart
    if nodes > cluster.nodes:
        raise InputError(
            f"{study.workers[-1]} workers"
            + (f" and {apart} servers" if apart else "")
            + f" need {nodes} nodes; cluster.nodes is {cluster.nodes}. Ask for fewer workers or"
            " have more nodes."
        )
    if asked.aggregation is Aggregation.ALL_REDUCE:
        return asked
    known, law = coefficients, asked.stragglers
    if law is not None:
        known = _in_step(known)
    alone = replace(model, cluster=fewer(cluster, cluster.node_devices), offers=(), job=None)
    found = estimate(alone, coefficients=known, played=False)
    outer = network(cluster, coefficients).wires[-1]
    trained = sum(layer.repeats * layer.trainable for layer in learned.model.layers)
    seconds = found.step_time - found.parts.update - found.parts.input
    worker = Worker(
        compute=stretched(law or _straggling(coefficients, learned), seconds),
        samples=float(learned.global_batch),
        pulled=trained * learned.precision.value_bytes,
        pushed=trained * learned.gradients.wire_bytes,
        link=outer.share * outer.below,
    )
    return asked.of(worker)


def _straggling(known: Coefficients, learned: Workload) -> Distribution:
    """How a pass varies, from pass to pass and from device to device, about its mean.

    Without it, equal workers would meet for ever.
    """
    spread = known.picture_steps.straggling if learned.model.dimensions else known.step.spread
    return LogNormal(mean=1.0, deviation=spread) if spread else Constant(1.0)


def _best(job: WholeJob, training: Training, *, most: int, tell: Told) -> BestCount:
    """On how many nodes the whole job ends first, and what limits it."""
    trainings = {training, *(changed for _, changed in what_ifs(job, training).values())}
    numbers = len(counted_workers(training.updates.backup + 1, most))
    everything = len(trainings) * (1 if training.updates.stale is None else numbers)
    done = count(1)

    @cache
    def steps(asked: Training) -> tuple[Floats, Floats]:
        return steps_by_formula(asked, most, told=lambda: tell("whole job", next(done), everything))

    def step(asked: Training, nodes: Floats) -> Number:
        return np.interp(nodes, *steps(asked))

    nodes = best_count(job, training, most=most, step=step)
    time = served_time(job, training, nodes=float(nodes), step=step)
    limits = scaling_findings(job, training, most=most, step=step)
    helps = what_if_findings(job, training, most=most, step=step)
    return BestCount(
        nodes=nodes,
        seconds=float(time.total),
        start=float(time.start.total),
        findings=(*limits, *helps),
    )
