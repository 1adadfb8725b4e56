"""Grids: one table of a study that stands for several, one for each combination of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Final

from foretrain.files.problems import Problems
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
    choices = product(*([(keys, value) for value in values] for keys, values in axes))
    return [_chosen(single, choice) for choice in choices]


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


def _chosen(
    single: Mapping[str, Any], choice: Sequence[tuple[tuple[str, ...], Any]]
) -> dict[str, Any]:
    """The table with one value at each place of its grid."""
    table = dict(single)
    for keys, value in choice:
        table = _with(table, keys, value)
    told = [f"{keys[-1]}={value}" for keys, value in choice]
    if isinstance(table.get("name"), str):
        table["name"] = "-".join([table["name"], *told])
    return table


def _with(table: Mapping[str, Any], keys: Sequence[str], value: object) -> dict[str, Any]:
    """A table with a value deep inside."""
    first, *rest = keys
    if not rest:
        return {**table, first: value}
    inner = table.get(first)
    return {**table, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
