"""Keys of [workload] about the training: data set, evaluations, a batch that grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from foretrain.errors import InputError
from foretrain.files.amount import Counted, SomeTraining
from foretrain.files.keys import Count, Reads
from foretrain.files.problems import Problems
from foretrain.units import BYTES, SAMPLES, SECONDS, as_written
from foretrain.workload.training import BatchRamp, Data, Evaluation


def _samples(value: object) -> float:
    """A number of samples above 0."""
    number = SAMPLES.read(value)
    if number == 0:
        raise InputError(f"{as_written(value)} leaves nothing to learn from.")
    return number


SomeSamples = Annotated[float, Reads(_samples, {"type": ["number", "string"]})]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    """The data set, as it is written."""

    samples: SomeSamples
    sample_bytes: Annotated[float, BYTES] | None = None
    prepare: Annotated[float, SECONDS] | None = None

    @property
    def noun(self) -> Data:
        """What it means."""
        return Data(samples=self.samples, sample_bytes=self.sample_bytes, prepare=self.prepare)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSection:
    """Evaluations, as they are written."""

    every: SomeTraining
    samples: SomeSamples


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRampSection:
    """A batch that grows, as it is written."""

    start: Count
    increment: Count
    samples: SomeSamples


def evaluation_of(
    section: EvaluationSection | None, counted: Counted, problems: Problems
) -> Evaluation | None:
    """The evaluations of a study; None without any, or where `problems` says why."""
    if section is None:
        return None
    every = counted.samples(section.every, "workload.evaluation.every", problems)
    return None if every is None else Evaluation(every=every, samples=section.samples)


def ramp_of(
    section: BatchRampSection | None, global_batch: int, problems: Problems
) -> BatchRamp | None:
    """The growing batch of a study; None without one, or where `problems` says why."""
    if section is None:
        return None
    ramp = BatchRamp(start=section.start, increment=section.increment, samples=section.samples)
    if not ramp.reaches(global_batch):
        problems.add(
            "workload.batch_ramp",
            f"{ramp.start} samples do not grow to the {global_batch} of workload.global_batch by "
            f"{ramp.increment} at a time; choose a start below it and an increment that divides "
            "the difference.",
        )
        return None
    return ramp
