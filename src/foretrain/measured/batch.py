"""The batch of a measured run: of a step, and of one pass through the network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.degrees import Degrees
from foretrain.measured.run import MeasuredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples of a step, and of one micro-batch of one replica."""

    step: int
    micro: int


def batch_of(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions, *, tokens: int) -> Batch:
    """The samples of a run.

    Args:
        run: the run.
        degrees: of its axes.
        assumptions: takes what stands for blanks.
        tokens: of a sample.

    Raises:
        NotCovered: no batch is stated, or replicas do not get whole micro-batches.
    """
    run = _in_samples(run, tokens)
    step = run.global_batch
    if step is None:
        step = _of_all(run, degrees, assumptions)
    micro = _micro(run, degrees, step=step, assumptions=assumptions)
    if not micro.is_integer() or micro < 1 or step % (int(micro) * degrees.data):
        raise NotCovered("global batch is not a whole number of micro-batches on every replica")
    return Batch(step=step, micro=int(micro))


def _in_samples(run: MeasuredRun, tokens: int) -> MeasuredRun:
    """A batch of so many tokens holds as many samples as they fill."""
    layout = run.layout
    if layout.micro_batch is not None or layout.batch_tokens is None:
        return run
    return replace(run, layout=replace(layout, micro_batch=float(layout.batch_tokens // tokens)))


def _of_all(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions) -> int:
    micro = stated(run.layout.micro_batch, "global batch")
    count = assumptions.fill(run.layout.accumulation, defaults.NO_ACCUMULATION)
    return int(micro * degrees.data * count)


def _micro(run: MeasuredRun, degrees: Degrees, *, step: int, assumptions: Assumptions) -> float:
    layout, share = run.layout, step / degrees.data
    if layout.micro_batch is not None:
        return layout.micro_batch
    if layout.accumulation is not None:
        return share / layout.accumulation
    if degrees.pipeline > 1:
        return float(assumptions.take(defaults.SINGLE_SAMPLES))
    assumptions.take(defaults.WHOLE_SHARE)
    return share
