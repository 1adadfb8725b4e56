"""The section [workload] of a study: what is learned."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated

from foretrain.errors import ForetrainError, InputError
from foretrain.files.amount import Counted, SomeTraining
from foretrain.files.keys import Count, Reads
from foretrain.files.learning import SomeGradients, SomeTrainable, codec_of
from foretrain.files.model import Sample, SomeModel, read_model
from foretrain.files.problems import Problems, validated
from foretrain.files.training import (
    BatchRampSection,
    DataSection,
    EvaluationSection,
    evaluation_of,
    ramp_of,
)
from foretrain.files.words import known, reader
from foretrain.units import as_written
from foretrain.workload.gradients import FP32
from foretrain.workload.graph import Model
from foretrain.workload.library.routing import Routing
from foretrain.workload.trainable import EVERYTHING, adapted
from foretrain.workload.workload import Optimizer, Precision, Workload


def _ratio(value: object) -> float:
    """A ratio above 0.

    Raises:
        InputError: for anything else, such as "1.25".
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise InputError(f"{as_written(value)} is not a number above 0.")
    return float(value)


SomePrecision = Annotated[Precision, Reads(reader(Precision), {"enum": list(known(Precision))})]
SomeOptimizer = Annotated[Optimizer, Reads(reader(Optimizer), {"enum": list(known(Optimizer))})]
Ratio = Annotated[float, Reads(_ratio, {"type": "number", "exclusiveMinimum": 0})]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSection:
    """The section as it is written; `Workload` has the meanings."""

    model: SomeModel
    global_batch: Count
    sequence: Count | None = None
    image: Count | None = None
    positions: Count | None = None
    precision: SomePrecision = Precision.BF16
    optimizer: SomeOptimizer = Optimizer.ADAMW
    trainable: SomeTrainable = EVERYTHING
    gradients: SomeGradients = FP32
    expert_capacity: Ratio | None = None
    expert_imbalance: Ratio | None = None
    amount: SomeTraining | None = None
    data: DataSection | None = None
    evaluation: EvaluationSection | None = None
    batch_ramp: BatchRampSection | None = None


def read_workload(
    section: dict[str, object], problems: Problems, folder: Path | None = None
) -> Workload | None:
    """The workload of a study; None where a mistake hides it.

    Args:
        section: keys and values.
        problems: takes mistakes.
        folder: of the study's file, where relative paths start; None for a study that is no file.
    """
    found = validated(WorkloadSection, section, path="workload", problems=problems)
    model = _model(found, problems, folder) if found else None
    if found is None or model is None:
        return None
    counted = _counted(found, model)
    return Workload(
        model=model,
        global_batch=found.global_batch,
        precision=found.precision,
        optimizer=found.optimizer,
        gradients=codec_of(found.gradients, model),
        samples=counted.samples(found.amount, "workload.amount", problems),
        data=found.data.noun if found.data else None,
        evaluation=evaluation_of(found.evaluation, counted, problems),
        ramp=ramp_of(found.batch_ramp, found.global_batch, problems),
    )


def _model(found: WorkloadSection, problems: Problems, folder: Path | None) -> Model | None:
    """The model, with what is trained of it."""
    sample = Sample(sequence=found.sequence, image=found.image, positions=found.positions)
    routing = Routing(capacity=found.expert_capacity, imbalance=found.expert_imbalance)
    try:
        model = read_model(found.model, sample, routing=routing, folder=folder)
        return adapted(model, found.trainable)
    except ForetrainError as error:
        problems.add("workload", str(error))
        return None


def _counted(found: WorkloadSection, model: Model) -> Counted:
    """How many samples a step, a token and an epoch are."""
    return Counted(
        model=model.name,
        step=float(found.global_batch),
        token=1 / model.tokens if found.sequence else None,
        epoch=found.data.samples if found.data else None,
    )
