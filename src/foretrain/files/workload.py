"""The section [workload] of a study: what is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.errors import InputError, nearest
from foretrain.files.keys import Count, Reads, table
from foretrain.files.problems import Problems, validated
from foretrain.units import EPOCHS, SAMPLES, STEPS, TOKENS, Quantity, as_written
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import ENTRIES, build, find
from foretrain.workload.workload import Optimizer, Precision, Workload

AMOUNTS: Final[dict[str, Quantity]] = {
    "tokens": TOKENS,
    "samples": SAMPLES,
    "epochs": EPOCHS,
    "steps": STEPS,
}
EXAMPLES: Final = '"15 T tokens", "1 M samples", "90 epochs" or "2000 steps"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much training: a number of tokens, samples, epochs or steps."""

    number: float
    unit: str


def read_amount(value: object) -> Amount:
    """An amount of training, such as "15 T tokens".

    Raises:
        InputError: if it is not a number above 0 of something that training is counted in.
    """
    if not isinstance(value, str):
        raise InputError(f"{as_written(value)} has no unit. Write for example {EXAMPLES}.")
    text = value.rstrip()
    unit = next((unit for unit in AMOUNTS if text.endswith((unit, unit[:-1]))), None)
    if unit is None:
        word = text.split()[-1] if text.split() else ""
        raise InputError(
            f"{as_written(value)} is not an amount of training.{nearest(word, AMOUNTS)} "
            f"Write for example {EXAMPLES}."
        )
    number = AMOUNTS[unit].read(value)
    if number == 0:
        raise InputError(f"{as_written(value)} is no training; write more, or leave it out.")
    return Amount(number=number, unit=unit)


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


def _samples(value: object) -> float:
    """The size of a data set, above 0."""
    number = SAMPLES.read(value)
    if number == 0:
        raise InputError(f"{as_written(value)} leaves nothing to learn from.")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSection:
    """The data set: samples of one epoch."""

    samples: Annotated[float, Reads(_samples, {"type": ["number", "string"]})]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSection:
    """The section as it is written; `Workload` has the meanings."""

    model: Annotated[str, Reads(_model_name, {"type": "string", "examples": list(ENTRIES)})]
    global_batch: Count
    sequence: Count | None = None
    image: Count | None = None
    precision: Precision = Precision.BF16
    optimizer: Optimizer = Optimizer.ADAMW
    amount: (
        Annotated[Amount, Reads(read_amount, {"type": "string", "description": EXAMPLES})] | None
    ) = None
    data: DataSection | None = None


def read_workload(section: dict[str, object], problems: Problems) -> Workload | None:
    """The workload of a study; None where a mistake, noted in `problems`, hides it."""
    if isinstance(data := section.get("data"), Mapping):
        section = {**section, "data": table(data, "workload.data", problems)}
    found = validated(WorkloadSection, section, path="workload", problems=problems)
    model = _model(found, problems) if found else None
    if found is None or model is None:
        return None
    return Workload(
        model=model,
        global_batch=found.global_batch,
        precision=found.precision,
        optimizer=found.optimizer,
        samples=_trained(found, model, problems),
        epoch_samples=found.data.samples if found.data else None,
    )


def _model(found: WorkloadSection, problems: Problems) -> Model | None:
    try:
        return build(found.model, sequence=found.sequence, image=found.image)
    except InputError as error:
        problems.add("workload", str(error))
        return None


def _trained(found: WorkloadSection, model: Model, problems: Problems) -> float | None:
    """Samples of the whole training; None without an amount."""
    if found.amount is None:
        return None
    counted = {
        "samples": 1.0,
        "steps": float(found.global_batch),
        "tokens": None if found.image else 1 / model.tokens,
        "epochs": found.data.samples if found.data else None,
    }
    samples = counted[found.amount.unit]
    if samples is None:
        lacking = {
            "tokens": f"{found.model} reads images; write samples, epochs or steps",
            "epochs": "epochs need the size of the data set: write workload.data.samples",
        }
        problems.add("workload.amount", f"{lacking[found.amount.unit]}.")
        return None
    return found.amount.number * samples
