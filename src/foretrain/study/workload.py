"""Keys of [workload] about what is trained and how gradients travel.

Keys of [workload] about the training: data set, evaluations, a batch that grows.

The section [workload] of a study: what is learned.

Length: the workload of a study with samples of other lengths.

Amounts of training: tokens, samples, epochs or steps, and how many samples they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Final

from foretrain.errors import ForetrainError, InputError, nearest
from foretrain.study.keys import Count, Reads, known, ratio, reader
from foretrain.study.model import Sample, SomeModel, read_model
from foretrain.study.problems import Problems, inner, validated
from foretrain.units import (
    BYTES,
    EPOCHS,
    SAMPLES,
    SECONDS,
    SHARE,
    STEPS,
    TOKENS,
    Quantity,
    as_written,
)
from foretrain.workload.gradients import CODECS, FP32, GradientCodec, power_sgd, top
from foretrain.workload.graph import Model
from foretrain.workload.library.variants import Routing
from foretrain.workload.trainable import EVERYTHING, Trainable, WeightStorage, adapted
from foretrain.workload.workload import BatchRamp, Data, Evaluation, Optimizer, Precision, Workload

ALL: Final = "all"
FORMS: Final = '"all", { lora = 16 } or { frozen = 20 }'
GRADIENTS: Final = '{ top = "1 %" } or { powersgd = 4 }'


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainableSection:
    """What is trained, as it is written."""

    frozen: Count | None = None
    lora: Count | None = None
    targets: tuple[str, ...] = ()
    quantised: WeightStorage | None = None
    dropout: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsSection:
    """A codec that needs a number, as it is written."""

    top: Annotated[float, SHARE] | None = None
    powersgd: Count | None = None


def read_trainable(value: object) -> Trainable:
    """What is trained.

    Raises:
        InputError: if it is none of the forms.
    """
    if value == ALL:
        return EVERYTHING
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"{as_written(value)} does not say what is trained. Write {FORMS}.")
    found = inner(TrainableSection, value)
    return Trainable(
        frozen=found.frozen or 0,
        lora=found.lora or 0,
        targets=found.targets,
        stored=found.quantised,
        dropout=found.dropout,
    )


def read_gradients(value: object) -> GradientCodec | int:
    """A codec, or the rank of one that depends on the model.

    Raises:
        InputError: if it is none of the forms.
    """
    if isinstance(value, Mapping):
        found = inner(GradientsSection, value)
        if (found.top is None) == (found.powersgd is None):
            raise InputError(f"{as_written(value)} is no codec. Write {GRADIENTS}.")
        return found.powersgd or top(found.top or 0.0)
    if not isinstance(value, str) or value not in CODECS:
        raise InputError(
            f"unknown {as_written(value)}.{nearest(str(value), CODECS)} "
            f"Known: {', '.join(CODECS)}, {GRADIENTS}."
        )
    return CODECS[value]


def codec_of(found: GradientCodec | int, model: Model) -> GradientCodec:
    """The codec of a model's gradients."""
    return power_sgd(found, model) if isinstance(found, int) else found


SomeTrainable = Annotated[
    Trainable,
    Reads(read_trainable, {"anyOf": [{"const": ALL}, {"type": "object"}], "description": FORMS}),
]
SomeGradients = Annotated[
    GradientCodec | int,
    Reads(
        read_gradients,
        {"anyOf": [{"enum": list(CODECS)}, {"type": "object"}], "description": GRADIENTS},
    ),
]


def read_samples(value: object) -> float:
    """A number of samples above 0."""
    number = SAMPLES.read(value)
    if number == 0:
        raise InputError(f"{as_written(value)} leaves nothing to learn from.")
    return number


SomeSamples = Annotated[float, Reads(read_samples, {"type": ["number", "string"]})]


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


SomePrecision = Annotated[Precision, Reads(reader(Precision), {"enum": list(known(Precision))})]
SomeOptimizer = Annotated[Optimizer, Reads(reader(Optimizer), {"enum": list(known(Optimizer))})]
Ratio = Annotated[float, ratio(below=inf)]


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
    if found is None:
        return None
    sample = Sample(sequence=found.sequence, image=found.image, positions=found.positions)
    routing = Routing(capacity=found.expert_capacity, imbalance=found.expert_imbalance)
    try:
        model = read_model(found.model, sample, routing=routing, folder=folder)
        model = adapted(model, found.trainable)
    except ForetrainError as error:
        problems.add("workload", str(error))
        return None
    # How many samples a step, a token and an epoch are.
    counted = Counted(
        model=model.name,
        step=float(found.global_batch),
        token=1 / model.tokens if found.sequence else None,
        epoch=found.data.samples if found.data else None,
    )
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


def with_length(section: Mapping[str, object], tokens: int, folder: Path | None = None) -> Workload:
    """The workload of a section [workload] for samples of so many tokens, all else as written.

    An amount in tokens stays that many tokens: it is fewer samples where they are longer.

    Args:
        section: keys and values.
        tokens: of one sample.
        folder: of the study's file, where relative paths start.

    Raises:
        InputError: the model cannot have samples of that length.
    """
    if isinstance(section.get("model"), Mapping):
        raise InputError("the totals of a model are those of samples of one length.")
    problems = Problems("workload")
    workload = read_workload({**section, "sequence": tokens}, problems, folder)
    if workload is None or problems.found:
        raise InputError(" ".join(text for _, text in problems.found))
    return workload


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


SomeTraining = Annotated[Amount, Reads(read_amount, {"type": "string", "description": EXAMPLES})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many samples one of each unit is.

    Attributes:
        model: its name, for messages.
        step: samples of a step.
        token: samples of a token; None for a model of images.
        epoch: samples of an epoch; None without a data set.
    """

    model: str
    step: float
    token: float | None
    epoch: float | None

    def samples(self, amount: Amount | None, key: str, problems: Problems) -> float | None:
        """The samples of an amount; None without one, or where `problems` says why not.

        Args:
            amount: what was read.
            key: where it stands.
            problems: takes an amount that cannot be counted in samples.
        """
        if amount is None:
            return None
        each = {"samples": 1.0, "steps": self.step, "tokens": self.token, "epochs": self.epoch}
        size = each[amount.unit]
        if size is not None:
            return amount.number * size
        lacking = {
            "tokens": f"{self.model} reads images; write samples, epochs or steps",
            "epochs": "epochs need the size of the data set: write workload.data.samples",
        }
        problems.add(key, f"{lacking[amount.unit]}.")
        return None
