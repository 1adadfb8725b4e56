"""The section [workload] of a study: what is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from foretrain.errors import InputError
from foretrain.files.amount import Counted, SomeTraining
from foretrain.files.keys import Count, Reads
from foretrain.files.problems import Problems, validated
from foretrain.files.training import (
    BatchRampSection,
    DataSection,
    EvaluationSection,
    evaluation_of,
    ramp_of,
)
from foretrain.units import as_written
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import ENTRIES, build, find
from foretrain.workload.workload import Optimizer, Precision, Workload


def _model_name(value: object) -> str:
    """The catalogue name of a model.

    Raises:
        InputError: if the library has no such model, or it is a form that nothing reads yet.
    """
    if not isinstance(value, str):
        raise InputError(f"{as_written(value)} is not the name of a model, the only form read yet.")
    if "/" in value or ":" in value or value.endswith((".json", ".onnx")):
        raise InputError(
            f"{as_written(value)} is a file or Python code, which foretrain does not read yet. "
            "Write the name of a model, such as 'llama-3-70b'."
        )
    return find(value).name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSection:
    """The section as it is written; `Workload` has the meanings."""

    model: Annotated[str, Reads(_model_name, {"type": "string", "examples": list(ENTRIES)})]
    global_batch: Count
    sequence: Count | None = None
    image: Count | None = None
    precision: Precision = Precision.BF16
    optimizer: Optimizer = Optimizer.ADAMW
    amount: SomeTraining | None = None
    data: DataSection | None = None
    evaluation: EvaluationSection | None = None
    batch_ramp: BatchRampSection | None = None


def read_workload(section: dict[str, object], problems: Problems) -> Workload | None:
    """The workload of a study; None where a mistake, noted in `problems`, hides it."""
    found = validated(WorkloadSection, section, path="workload", problems=problems)
    model = _model(found, problems) if found else None
    if found is None or model is None:
        return None
    counted = _counted(found, model)
    return Workload(
        model=model,
        global_batch=found.global_batch,
        precision=found.precision,
        optimizer=found.optimizer,
        samples=counted.samples(found.amount, "workload.amount", problems),
        data=found.data.noun if found.data else None,
        evaluation=evaluation_of(found.evaluation, counted, problems),
        ramp=ramp_of(found.batch_ramp, found.global_batch, problems),
    )


def _model(found: WorkloadSection, problems: Problems) -> Model | None:
    try:
        return build(found.model, sequence=found.sequence, image=found.image)
    except InputError as error:
        problems.add("workload", str(error))
        return None


def _counted(found: WorkloadSection, model: Model) -> Counted:
    """How many samples a step, a token and an epoch are."""
    return Counted(
        model=found.model,
        step=float(found.global_batch),
        token=None if found.image else 1 / model.tokens,
        epoch=found.data.samples if found.data else None,
    )
