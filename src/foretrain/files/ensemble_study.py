"""Studies of an ensemble: [ensemble], [[members]], [halving], [checkpoints] and [logs]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from foretrain.errors import InputError, nearest
from foretrain.files.grid import expanded
from foretrain.files.keys import Count, Reads
from foretrain.files.problems import Problems, unknown_key, validated
from foretrain.files.toml import read_toml
from foretrain.measured.ensemble_study import (
    LOSSES,
    OPTIMIZERS,
    Checkpoints,
    Code,
    EnsembleStudy,
    Halving,
    Input,
    Lag,
    Logs,
    OnError,
    Optimizer,
    Recipe,
)
from foretrain.units import BYTES, SECONDS, as_written

Section = TypeVar("Section")

SECTIONS: Final = ("ensemble", "members", "halving", "checkpoints", "logs")
SHARED_KEYS: Final = ("batch", "optimizer", "loss", "epochs", "policy", "private", "device")
"""Keys of a member that [ensemble] may say for all."""

NO_MEMBERS: Final = "is missing. Write [[members]] for each model, or for each kind with a grid."


def _code(value: object) -> Code:
    """A function of a module.

    Raises:
        InputError: for anything else.
    """
    module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    parts = [*module.split("."), *name.split(".")]
    if not (module and name and all(part.isidentifier() for part in parts)):
        raise InputError(f"{as_written(value)} is no function; write package.module:function.")
    return Code(module, name)


def _loss(value: object) -> str | Code:
    """A named loss or a function of model and batch.

    Raises:
        InputError: for anything else.
    """
    if isinstance(value, str) and ":" not in value:
        if value not in LOSSES:
            raise InputError(_unknown("loss", value, LOSSES))
        return value
    return _code(value)


def _optimizer(value: object) -> Optimizer:
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
    return Optimizer(name=_code(name) if ":" in name else name, options=options)


def _unknown(what: str, value: str, known: Sequence[str]) -> str:
    known_or_own = f"{', '.join(known)}; or package.module:function"
    return f"unknown {what} '{value}'.{nearest(value, known)} Known: {known_or_own}."


TEXT: Final = {"type": "string"}
SomeCode = Annotated[Code, Reads(_code, {**TEXT, "examples": ["package.module:build"]})]
SomeLoss = Annotated[str | Code, Reads(_loss, {**TEXT, "examples": [*LOSSES]})]
SomeOptimizer = Annotated[
    Optimizer,
    Reads(
        _optimizer,
        {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleSection:
    """What all members have in common, as it is written; `EnsembleStudy` has the meanings."""

    name: str
    data: SomeCode
    shared: SomeCode | None = None
    workers: Count | None = None
    memory: Annotated[float, BYTES] = 2.0**28
    cores: Count | None = None
    input: Input = Input.AUTO
    shuffle: bool = True
    seed: int = 0
    on_error: OnError = OnError.RAISE
    batch: Count | None = None
    optimizer: SomeOptimizer | None = None
    loss: SomeLoss | None = None
    epochs: Count | None = None
    policy: Lag = Lag.BLOCK
    private: SomeCode | None = None
    device: str = "cpu"


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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsSection:
    """What survives a reboot, as it is written."""

    folder: str
    every: Annotated[float, SECONDS] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsSection:
    """What a run writes, as it is written."""

    csv: str | None = None
    tensorboard: str | None = None
    prometheus: str | None = None
    every: Annotated[float, SECONDS] = 1.0


def read_ensemble_study(path: Path | str) -> EnsembleStudy:
    """The study of an ensemble in a TOML file; no code that it names is run.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = read_toml(Path(path), problems)
    return _Reader(document, problems, folder=Path(path).parent).study()


@dataclass(frozen=True, slots=True)
class _Reader:
    """A document on its way to a study."""

    document: Mapping[str, Any]
    problems: Problems
    folder: Path

    def study(self) -> EnsembleStudy:
        """The study; raises an InputError with every problem."""
        self._check_sections()
        common = self._section(EnsembleSection, "ensemble")
        recipes = [*self._recipes()]
        halving = self._section(Halving, "halving")
        kept = self._section(CheckpointsSection, "checkpoints")
        logs = self._section(LogsSection, "logs")
        self.problems.check()
        assert common
        try:
            return EnsembleStudy(
                name=common.name,
                data=common.data,
                recipes=tuple(recipes),
                shared=common.shared,
                workers=common.workers,
                memory=common.memory,
                cores=common.cores,
                input=common.input,
                shuffle=common.shuffle,
                seed=common.seed,
                on_error=common.on_error,
                halving=halving,
                checkpoints=self._checkpoints(kept),
                logs=self._logs(logs),
                folder=str(self.folder),
            )
        except InputError as error:
            self.problems.add("", str(error))
            self.problems.check()
            raise

    def _check_sections(self) -> None:
        self.problems.check_depth(self.document)
        for key in self.document:
            if key not in SECTIONS:
                self.problems.add(key, unknown_key(key, SECTIONS))
        for key in SECTIONS:
            kind: type = list if key == "members" else Mapping
            if key in self.document and not isinstance(self.document[key], kind):
                brackets = f"[[{key}]]" if key == "members" else f"[{key}]"
                self.problems.add(key, f"is not a table; write {brackets} and its keys below.")
                self.problems.check()

    def _section(self, kind: type[Section], path: str) -> Section | None:
        """A section; None where an optional one is absent."""
        if path not in self.document and path != "ensemble":
            return None
        written = self.document.get(path, {})
        return validated(kind, written, path=path, problems=self.problems)

    def _recipes(self) -> Iterator[Recipe]:
        """Every member, those of a grid one by one."""
        common = self.document.get("ensemble", {})
        inherited = {key: common[key] for key in SHARED_KEYS if key in common}
        if not self.document.get("members"):
            self.problems.add("members", NO_MEMBERS)
        names: Counter[str] = Counter()
        for place, written in enumerate(self.document.get("members", [])):
            path = f"members[{place}]"
            told = {f"{path}.{key}" for key in inherited if self.problems.touch(f"ensemble.{key}")}
            for each in self._members(written, inherited, path):
                recipe = self._recipe(each, path, told=told)
                names.update([recipe.name] if recipe else [])
                yield from [recipe] if recipe else []
        for name in sorted(name for name, times in names.items() if times > 1):
            self.problems.add("members", f"two are called '{name}'; names must differ.")

    def _members(
        self, written: object, inherited: Mapping[str, Any], path: str
    ) -> list[dict[str, Any]]:
        """The tables of one entry: several where it has a grid."""
        if not isinstance(written, Mapping):
            self.problems.add(path, f"{as_written(written)} is not a table of keys and values.")
            return []
        return expanded({**inherited, **written}, path, self.problems)

    def _recipe(self, written: Mapping[str, Any], path: str, *, told: set[str]) -> Recipe | None:
        """One member; what is wrong with a key that [ensemble] says is told there alone."""
        found = Problems(self.problems.where)
        section = validated(MemberSection, written, path=path, problems=found)
        if section and not found.found:
            try:
                return section.noun
            except InputError as error:
                found.add(path, str(error))
        for key, text in found.found:
            if key not in told:
                self.problems.add(key, text)
        return None

    def _checkpoints(self, section: CheckpointsSection | None) -> Checkpoints | None:
        if section is None:
            return None
        return Checkpoints(folder=str(self.folder / section.folder), every=section.every)

    def _logs(self, section: LogsSection | None) -> Logs:
        if section is None:
            return Logs()
        kinds = ("csv", "tensorboard", "prometheus")
        named = {kind: getattr(section, kind) for kind in kinds}
        paths = {kind: str(self.folder / name) for kind, name in named.items() if name is not None}
        return Logs(**paths, every=section.every)
