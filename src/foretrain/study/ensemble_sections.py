"""Sections of an ensemble's study, as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from foretrain.errors import InputError, nearest
from foretrain.measured.ensemble_study import (
    LOSSES,
    OPTIMIZERS,
    Checkpoints,
    Code,
    HandingCosts,
    Input,
    Lag,
    Logs,
    MemberOptimizer,
    OnError,
    Recipe,
    SampleCosts,
    StepCosts,
)
from foretrain.study.keys import Count, Reads
from foretrain.units import BYTES, SECONDS, as_written


def read_code(value: object) -> Code:
    """A function of a module.

    Raises:
        InputError: for anything else.
    """
    module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    parts = [*module.split("."), *name.split(".")]
    if not (module and name and all(part.isidentifier() for part in parts)):
        raise InputError(f"{as_written(value)} is no function; write package.module:function.")
    return Code(module, name)


def read_loss(value: object) -> str | Code:
    """A named loss or a function of model and batch.

    Raises:
        InputError: for anything else.
    """
    if isinstance(value, str) and ":" not in value:
        if value not in LOSSES:
            raise InputError(_unknown("loss", value, LOSSES))
        return value
    return read_code(value)


def read_optimizer(value: object) -> MemberOptimizer:
    """A table with a name; what else it holds are options.

    Raises:
        InputError: for anything else.
    """
    if not (isinstance(value, Mapping) and isinstance(value.get("name"), str)):
        raise InputError(
            f"{as_written(value)} is no optimizer; write {{ name = 'sgd', lr = 0.1 }}."
        )
    name = value["name"]
    if ":" not in name and name not in OPTIMIZERS:
        raise InputError(_unknown("optimizer", name, OPTIMIZERS))
    options = {key: item for key, item in value.items() if key != "name"}
    return MemberOptimizer(name=read_code(name) if ":" in name else name, options=options)


def _unknown(what: str, value: str, known: Sequence[str]) -> str:
    known_or_own = f"{', '.join(known)}; or package.module:function"
    return f"unknown {what} '{value}'.{nearest(value, known)} Known: {known_or_own}."


TEXT: Final = {"type": "string"}
SomeCode = Annotated[Code, Reads(read_code, {**TEXT, "examples": ["package.module:build"]})]
SomeLoss = Annotated[str | Code, Reads(read_loss, {**TEXT, "examples": [*LOSSES]})]
SomeOptimizer = Annotated[
    MemberOptimizer,
    Reads(
        read_optimizer,
        {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSection:
    """What a sample costs, as it is written; `SampleCosts` has the meanings."""

    prepare: Annotated[float, SECONDS]
    size: Annotated[float, BYTES]
    count: Count

    @property
    def noun(self) -> SampleCosts:
        """What it means."""
        return SampleCosts(
            prepare=self.prepare, seconds=self.prepare, size=self.size, count=self.count
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HandingSection:
    """What handing on a sample costs, as it is written; `HandingCosts` has the meanings."""

    store: Annotated[float, SECONDS]
    deliver: Annotated[float, SECONDS]
    collate: Annotated[float, SECONDS]
    queue: Annotated[float, SECONDS]
    contention: float = 0.0
    by_session: bool = False

    @property
    def noun(self) -> HandingCosts:
        """What it means.

        Raises:
            InputError: cores cannot slow each other so much.
        """
        return HandingCosts(
            store=self.store,
            deliver=self.deliver,
            collate=self.collate,
            queue=self.queue,
            contention=self.contention,
            by_session=self.by_session,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneSection:
    """What a member does on its own, per sample, as it is written."""

    time: Annotated[float, SECONDS]
    cpu: Annotated[float, SECONDS]
    memory: Annotated[float, BYTES]

    @property
    def noun(self) -> StepCosts:
        """What it means.

        Raises:
            InputError: a sample takes no time.
        """
        if not self.time > 0:
            raise InputError("alone.time must be above 0 s.")
        return StepCosts(rate=1 / self.time, cpu=self.cpu, memory=self.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleSection:
    """What all members have in common, as it is written; `EnsembleStudy` has the meanings."""

    name: str
    data: SomeCode
    shared: SomeCode | None = None
    workers: Count | None = None
    memory: Annotated[float, BYTES] = 2.0**27
    cores: Count | None = None
    input: Input = Input.AUTO
    shuffle: bool = True
    seed: int = 0
    on_error: OnError = OnError.RAISE
    sample: SampleSection | None = None
    handing: HandingSection | None = None
    batch: Count | None = None
    optimizer: SomeOptimizer | None = None
    loss: SomeLoss | None = None
    epochs: Count | None = None
    policy: Lag = Lag.BLOCK
    private: SomeCode | None = None
    device: str = "cpu"
    process: str | None = None
    alone: AloneSection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSection:
    """One member, as it is written; `Recipe` has the meanings."""

    name: str
    model: SomeCode
    batch: Count
    optimizer: SomeOptimizer
    loss: SomeLoss
    epochs: Count
    options: dict[str, Any] = field(default_factory=dict)
    policy: Lag = Lag.BLOCK
    private: SomeCode | None = None
    device: str = "cpu"
    process: str | None = None
    alone: AloneSection | None = None

    @property
    def noun(self) -> Recipe:
        """What it means."""
        return Recipe(
            name=self.name,
            model=self.model,
            options=self.options,
            batch=self.batch,
            optimizer=self.optimizer,
            loss=self.loss,
            epochs=self.epochs,
            lag=self.policy,
            private=self.private,
            device=self.device,
            process=self.process,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsSection:
    """What survives a reboot, as it is written."""

    folder: str
    every: Annotated[float, SECONDS] = 300.0

    def noun(self, folder: Path) -> Checkpoints:
        """What it means, in the folder of its study."""
        return Checkpoints(folder=str(folder / self.folder), every=self.every)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsSection:
    """What a run writes, as it is written."""

    csv: str | None = None
    tensorboard: str | None = None
    prometheus: str | None = None
    every: Annotated[float, SECONDS] = 1.0

    def noun(self, folder: Path) -> Logs:
        """What it means, in the folder of its study."""
        kinds = ("csv", "tensorboard", "prometheus")
        named = {kind: getattr(self, kind) for kind in kinds}
        paths = {kind: str(folder / name) for kind, name in named.items() if name is not None}
        return Logs(**paths, every=self.every)
