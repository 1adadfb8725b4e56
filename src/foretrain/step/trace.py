"""The simulated step as a trace, in the format that browsers and Perfetto show.

One process per pipeline stage, one thread per stream: compute, the link to other stages, the link
among replicas, the host. What a stream does stands as complete events; bytes of a device are a
counter, which is highest where the estimate's memory is.

Source: traceevent2016 (Trace Event Format): JSON object format, phases X, C, M, s and f.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from foretrain.launch.kineto import ProfiledPiece
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting
from foretrain.step.simulated_passes import Pipeline, play
from foretrain.step.simulated_step import Tail, simulate, tail_of
from foretrain.step.step import Factors, factors, step_times
from foretrain.step.timeline import StepTimes

MICROSECONDS: Final = 1e6
"""The format's unit of time."""

NANOSECONDS: Final = 1e9
"""Perfetto counts whole nanoseconds, and so do we: it drops what begins before the end of what is
before it, which rounding start and length apart would make of neighbours."""

STREAMS: Final = ("compute", "link between stages", "link among replicas", "host")
"""Threads of a stage, in the order of their numbers."""

FIRST: Final = 1
"""Number of the first thread of a process: to Perfetto 0 is the idle thread, whoever's it is."""

COMPUTE, LINK, DATA, HOST = range(FIRST, FIRST + len(STREAMS))

KINDS: Final = ("forward", "backward", "weights")
"""What passes are, in the order of their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageHost:
    """Seconds of the host for one micro-batch through a stage: forward, and backward."""

    forward: float
    backward: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageBytes:
    """Bytes of a device of a stage: what is always there, and all activations at their most."""

    base: float
    activations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """Everything that a trace of one step shows.

    Attributes:
        times: seconds of what happens in the step.
        memory: of a device. [stage]
        host: what calls the kernels. [stage]
        input: seconds that all stages wait for samples after their update.
        step_time: seconds of the estimate, which may be those of the closed form.
    """

    times: StepTimes
    memory: tuple[StageBytes, ...]
    host: tuple[StageHost, ...]
    input: float
    step_time: float


def step_trace(known: Setting, estimate: Estimate) -> StepTrace:
    """What a trace of a plan's step shows.

    Args:
        known: workload, cluster and coefficients.
        estimate: of the plan.
    """
    priced = factors(known, hold(known, table_of([estimate.plan])))
    return StepTrace(
        times=step_times(known, priced),
        memory=tuple(
            StageBytes(base=each.total - each.activations, activations=each.activations)
            for each in estimate.memory.stages
        ),
        host=tuple(_hosts(known, priced, estimate.plan)),
        input=estimate.parts.input,
        step_time=estimate.step_time,
    )


def _hosts(known: Setting, priced: Factors, plan: Plan) -> Iterator[StageHost]:
    """Seconds of the host of every stage, in pipeline order."""
    held, times = priced.held, priced.passes.times
    row = priced.passes.time[priced.passing[0]]
    kinds = len(known.workload.model.layers)
    forward, backward = (
        np.broadcast_to(each, (kinds, np.shape(each)[-1]))[:, row if np.shape(each)[-1] > 1 else 0]
        for each in (times.forward_host, times.backward_host)
    )
    for run in held.runs:
        layers = held.cuts.layers[run, :, held.cut[0]]
        each = StageHost(forward=float(layers @ forward), backward=float(layers @ backward))
        yield from [each] * int(held.stages(run)[0])


def chrome_step(trace: StepTrace, measured: Sequence[ProfiledPiece] = ()) -> str:
    """The trace as one JSON document, an event on each line.

    Args:
        trace: what it shows.
        measured: pieces of a step that a profiler saw, as a process of their own behind the stages.
    """
    pipeline = play(trace.times)
    tails = [tail_of(stage, trace.times, pipeline) for stage in range(len(trace.times.stages))]
    found = simulate(trace.times)
    about = {
        "step_time": trace.step_time,
        "simulated": found.seconds + trace.input,
        "input": trace.input,
        "stages": [asdict(each) for each in found.stages],
    }
    events = (
        *_names(len(trace.times.stages)),
        *_passes(trace, pipeline),
        *_sends(trace, pipeline),
        *_memory(trace, pipeline),
        *_tails(trace, tails, end=found.seconds),
        *_measured(measured, len(trace.times.stages)),
    )
    body = ",\n".join(events)
    return (
        f'{{"traceEvents":[\n{body}\n],"displayTimeUnit":"ms","otherData":{json.dumps(about)}}}\n'
    )


def _measured(pieces: Sequence[ProfiledPiece], process: int) -> Iterator[str]:
    """A step that a profiler saw, a thread for each class of operators."""
    if not pieces:
        return
    kinds = [*dict.fromkeys(each.kind for each in pieces)]
    yield _named("measured, one process", process)
    for thread, kind in enumerate(kinds, FIRST):
        yield _named(str(kind), process, thread)
    for each in pieces:
        where = (process, kinds.index(each.kind) + FIRST)
        yield _slice(json.dumps(each.name)[1:-1], where, (each.start, each.end))


def _names(stages: int) -> Iterator[str]:
    """What processes and threads are called."""
    for stage in range(stages):
        yield _named(f"stage {stage}", stage)
        for thread, name in enumerate(STREAMS, FIRST):
            yield _named(name, stage, thread)


def _named(name: str, process: int, thread: int | None = None) -> str:
    """What a process or one of its threads is called."""
    what, whose = ("process", "") if thread is None else ("thread", f'"tid":{thread},')
    return f'{{"ph":"M","name":"{what}_name","pid":{process},{whose}"args":{{"name":"{name}"}}}}'


def _slice(name: str, where: tuple[int, int], when: tuple[float, float]) -> str:
    """A stretch of time in which a stream is busy."""
    (stage, thread), (start, end) = where, when
    begins, ends = round(start * NANOSECONDS), round(end * NANOSECONDS)
    long = ends - begins
    return (
        f'{{"ph":"X","name":"{name}","pid":{stage},"tid":{thread},'
        f'"ts":{begins // 1000}.{begins % 1000:03d},"dur":{long // 1000}.{long % 1000:03d}}}'
    )


def _passes(trace: StepTrace, pipeline: Pipeline) -> Iterator[str]:
    """Passes of micro-batches, and what their host does for them."""
    passes, chunks = pipeline.passes, trace.times.interleaving
    for number, end in enumerate(pipeline.ended):
        stage, kind = passes.stage(number), number // passes.half
        start = end - pipeline.seconds[number]
        chunk = number // passes.micro_batches % passes.chunks // passes.stages
        part = f".{chunk}" * (chunks > 1)
        name = f"{KINDS[kind]} {number % passes.micro_batches}{part}"
        yield _slice(name, (stage, COMPUTE), (start, end))
        own = trace.host[stage]
        calls = (own.forward, own.backward, 0.0)[kind] / chunks
        if calls > 0:
            yield _slice("calls", (stage, HOST), (start, min(end, start + calls)))


def _sends(trace: StepTrace, pipeline: Pipeline) -> Iterator[str]:
    """What stages send to one another, each with an arrow to where it arrives."""
    passes, successors = pipeline.passes, pipeline.passes.successors
    for number, (start, end) in pipeline.sent.items():
        stage, receiver = passes.stage(number), successors[number]
        assert receiver is not None, "a pass without a successor sends nothing"
        what = ("activations", "gradients", "weights")[number // passes.half]
        yield _slice(f"{what} {number % passes.micro_batches}", (stage, LINK), (start, end))
        there = passes.stage(receiver)
        begins = pipeline.ended[receiver] - pipeline.seconds[receiver]
        yield _arrow(number, (stage, LINK), start, leaves=True)
        yield _arrow(number, (there, COMPUTE), max(begins, end), leaves=False)


def _arrow(number: int, where: tuple[int, int], when: float, *, leaves: bool) -> str:
    """One end of an arrow from a send to the pass that waits for it."""
    stage, thread = where
    phase, end = ("s", "") if leaves else ("f", ',"bp":"e"')
    return (
        f'{{"ph":"{phase}","name":"send","cat":"send","id":{number},"pid":{stage},'
        f'"tid":{thread},"ts":{when * MICROSECONDS:.6f}{end}}}'
    )


def _memory(trace: StepTrace, pipeline: Pipeline) -> Iterator[str]:
    """Bytes of a device of every stage, wherever they change.

    A forward pass leaves activations, which its backward pass frees. The most that are there at
    once are all that the estimate counts.
    """
    passes = pipeline.passes
    moments: list[list[tuple[float, int]]] = [[] for _ in range(passes.stages)]
    for number in range(2 * passes.half):
        kept = 1 if number < passes.half else -1
        # What a pass keeps is there from its start; what it frees, until its end.
        end = pipeline.ended[number]
        when = end - pipeline.seconds[number] if kept > 0 else end
        moments[passes.stage(number)].append((when, kept))
    for stage, own in enumerate(moments):
        own.sort()
        held, most = _heights(own)
        known = trace.memory[stage]
        each = known.activations / most
        for (when, _), now in zip(own, held, strict=True):
            total = known.base + now * each
            yield (
                f'{{"ph":"C","name":"memory","pid":{stage},"ts":{when * MICROSECONDS:.6f},'
                f'"args":{{"bytes":{total:.0f}}}}}'
            )


def _heights(moments: Sequence[tuple[float, int]]) -> tuple[list[int], int]:
    """What is held after each moment, and the most."""
    held, now = [], 0
    for _, change in moments:
        now += change
        held.append(now)
    return held, max(held)


def _tails(trace: StepTrace, tails: Sequence[Tail], *, end: float) -> Iterator[str]:
    """What stages do after their passes, and the wait for samples."""
    for stage, (tail, own) in enumerate(zip(tails, trace.times.stages, strict=True)):
        for start, until in tail.buckets:
            if until > start:
                yield _slice("reduce gradients", (stage, DATA), (start, until))
        updated = tail.gradients + own.update
        if own.update:
            yield _slice("update", (stage, COMPUTE), (tail.gradients, updated))
        if own.parameters:
            yield _slice("gather parameters", (stage, DATA), (updated, tail.end))
        if trace.input:
            yield _slice("input", (stage, HOST), (end, end + trace.input))
