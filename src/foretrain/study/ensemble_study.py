"""Grids: one table of a study that stands for several, one for each combination of values.

Studies of an ensemble: [ensemble], [[members]], [halving], [checkpoints] and [logs].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final, TypeVar

from foretrain.errors import InputError
from foretrain.measured.ensemble_study import (
    EnsembleStudy,
    Halving,
    Logs,
    Probed,
    usual_handing,
)
from foretrain.study.documents import read_toml
from foretrain.study.ensemble_sections import (
    CheckpointsSection,
    EnsembleSection,
    LogsSection,
    MemberSection,
)
from foretrain.study.problems import Problems, check_sections, validated
from foretrain.units import as_written

GRID: Final = "grid"
MOST: Final = 1000
NO_LIST: Final = "is not a list of values to try, such as [0.1, 0.01]."

Axis = tuple[tuple[str, ...], list[Any]]
"""The keys that lead to a value, and what is tried there."""


def expanded(table: Mapping[str, Any], path: str, problems: Problems) -> list[dict[str, Any]]:
    """A table for each combination of the values in its grid; itself alone without one.

    The name of each tells what was chosen: "small-lr=0.1".

    Args:
        table: keys and values; its grid has the same shape, with lists of values.
        path: where it stands in its file.
        problems: takes what is wrong with the grid.
    """
    single = {key: value for key, value in table.items() if key != GRID}
    if GRID not in table:
        return [single]
    axes = [*_axes(table[GRID], f"{path}.{GRID}", problems)]
    tables = prod(len(values) for _, values in axes)
    if tables > MOST:
        problems.add(f"{path}.{GRID}", f"makes {tables:,} members; at most {MOST:,}.")
        return []
    found = []
    for choice in product(*([(keys, value) for value in values] for keys, values in axes)):
        chosen = single
        for keys, value in choice:
            chosen = _with(chosen, keys, value)
        if isinstance(chosen.get("name"), str):
            told = [f"{keys[-1]}={value}" for keys, value in choice]
            chosen = {**chosen, "name": "-".join([chosen["name"], *told])}
        found.append(chosen)
    return found


def _axes(
    grid: object, path: str, problems: Problems, *, above: tuple[str, ...] = ()
) -> Iterator[Axis]:
    if isinstance(grid, Mapping) and grid:
        for key, value in grid.items():
            yield from _axes(value, f"{path}.{key}", problems, above=(*above, key))
    elif isinstance(grid, list) and grid and above:
        yield above, grid
    else:
        problems.add(path, f"{as_written(grid)} {NO_LIST}")


def _with(table: Mapping[str, Any], keys: Sequence[str], value: object) -> dict[str, Any]:
    """A table with a value deep inside."""
    first, *rest = keys
    if not rest:
        return {**table, first: value}
    inner = table.get(first)
    return {**table, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}


Section = TypeVar("Section")

SECTIONS: Final = ("ensemble", "members", "halving", "checkpoints", "logs")
SHARED_KEYS: Final = (
    "batch",
    "optimizer",
    "loss",
    "epochs",
    "policy",
    "private",
    "device",
    "process",
    "alone",
)
"""Keys of a member that [ensemble] may say for all."""

NO_MEMBERS: Final = "is missing. Write [[members]] for each model, or for each kind with a grid."


def read_ensemble_study(path: Path | str) -> EnsembleStudy:
    """The study of an ensemble in a TOML file; no code that it names is run.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = read_toml(Path(path), problems)
    return _EnsembleReader(document, problems, folder=Path(path).parent).study()


@dataclass(frozen=True, slots=True)
class _EnsembleReader:
    """A document on its way to a study."""

    document: Mapping[str, Any]
    problems: Problems
    folder: Path

    def study(self) -> EnsembleStudy:
        """The study; raises an InputError with every problem."""
        check_sections(self.document, SECTIONS, self.problems, lists=("members",))
        common = self._section(EnsembleSection, "ensemble")
        members = [*self._members()]
        halving = self._section(Halving, "halving")
        saved = self._section(CheckpointsSection, "checkpoints")
        written = self._section(LogsSection, "logs")
        logs = written.noun(self.folder) if written else Logs()
        self.problems.check()
        assert common
        with self.problems.noting("ensemble", fields={}):
            return EnsembleStudy(
                name=common.name,
                data=common.data,
                recipes=tuple(each.noun for each in members),
                shared=common.shared,
                workers=common.workers,
                memory=common.memory,
                cores=common.cores,
                input=common.input,
                shuffle=common.shuffle,
                seed=common.seed,
                on_error=common.on_error,
                halving=halving,
                checkpoints=saved.noun(self.folder) if saved else None,
                logs=logs,
                given=_given(common, members),
                folder=str(self.folder),
            )
        self.problems.check()
        raise AssertionError("a study that was refused has a problem")

    def _section(self, kind: type[Section], path: str) -> Section | None:
        """A section; None where an optional one is absent."""
        if path not in self.document and path != "ensemble":
            return None
        written = self.document.get(path, {})
        return validated(kind, written, path=path, problems=self.problems)

    def _members(self) -> Iterator[MemberSection]:
        """Every member, those of a grid one by one."""
        common = self.document.get("ensemble", {})
        inherited = {key: common[key] for key in SHARED_KEYS if key in common}
        if not self.document.get("members"):
            self.problems.add("members", NO_MEMBERS)
        names: Counter[str] = Counter()
        for place, written in enumerate(self.document.get("members", [])):
            path = f"members[{place}]"
            told = {f"{path}.{key}" for key in inherited if self.problems.touch(f"ensemble.{key}")}
            table = self.problems.table(written, path)
            tables = [] if table is None else expanded({**inherited, **table}, path, self.problems)
            for each in tables:
                member = self._member(each, path, told=told)
                names.update([member.name] if member else [])
                yield from [member] if member else []
        for name in sorted(name for name, times in names.items() if times > 1):
            self.problems.add("members", f"two are called '{name}'; names must differ.")

    def _member(
        self, written: Mapping[str, Any], path: str, *, told: set[str]
    ) -> MemberSection | None:
        """One member; what is wrong with a key that [ensemble] says is told there alone."""
        found = Problems(self.problems.where)
        section = validated(MemberSection, written, path=path, problems=found)
        if section and not found.found:
            try:
                _ = section.noun
                return section
            except InputError as error:
                found.add(path, str(error))
        for key, text in found.found:
            if key not in told:
                self.problems.add(key, text)
        return None


def _given(common: EnsembleSection, members: Sequence[MemberSection]) -> Probed | None:
    """What the study says instead of having it measured.

    Raises:
        InputError: it says only a part of it.
    """
    alone = {each.name: each.alone for each in members if each.alone}
    if common.sample is None and not alone and common.handing is None:
        return None
    missing = [each.name for each in members if each.alone is None]
    if common.sample is None or missing:
        what = "[ensemble] sample" if common.sample is None else f"alone of {', '.join(missing)}"
        raise InputError(f"{what} is missing beside what else is given. Say all, or leave all out.")
    return Probed(
        sample=common.sample.noun,
        handing=common.handing.noun if common.handing else usual_handing(common.sample.size),
        usual=common.handing is None,
        members={name: each.noun for name, each in alone.items()},
        measured=False,
    )
