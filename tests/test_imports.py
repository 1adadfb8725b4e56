"""The map of the code: who may import whom, and what the core may not touch."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.parsed import nodes, tree

SOURCE = Path(__file__).parents[1] / "src" / "foretrain"
TRANSPORT = SOURCE.parent / "batchcast"
FILES = sorted(SOURCE.rglob("*.py"))

BASE = (
    "answers",
    "distributions",
    "errors",
    "events",
    "plugins",
    "statistics",
    "throughput",
    "units",
)
WINGS = (
    "workload", "cluster", "plan", "trainers", "measured", "coefficients", "study", "launch",
    "show", "step", "search", "queueing", "ensemble", "jobs", "evidence", "app",
)  # fmt: skip
"""The order: a wing imports itself and what stands before it."""

ONLY_IN = {
    "pydantic": {"study", "app"},
    "typer": {"app"},
    "rich": {"app", "show"},
    "jinja2": {"show"},
    "plotly": set(),
    "yaml": {"study"},
    "batchcast": {"ensemble"},
}

EDGES = {"study", "app", "ensemble/run", "ensemble/nodes", "ensemble/train.py"}
"""What may touch files, the clock, processes and the network."""

BESIDE = {
    "search/best_plans.py": {"time"},  # says how long it took
    "search/search.py": {"time"},
    "distributions.py": {"random"},  # draws from a generator that it is given
    "queueing/servers/simulate.py": {"random"},  # makes one of a seed
    "queueing/placements.py": {"random"},  # makes one of a seed
    "jobs/case.py": {"time", "os"},  # and keeps a library's chatter off the answer
}
"""What else touches them, and for what."""

IMPURE_MODULES = {
    "datetime", "glob", "io", "logging", "multiprocessing", "os", "pathlib", "random", "shutil",
    "socket", "subprocess", "sys", "tempfile", "threading", "time", "torch", "urllib",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input"}


def wing_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def module_of(file: Path) -> str:
    return ".".join(["foretrain", *file.relative_to(SOURCE).with_suffix("").parts])


def files_of(wing: str) -> list[Path]:
    return [file for file in FILES if wing_of(file) == wing]


def is_edge(file: Path) -> bool:
    place = file.relative_to(SOURCE).as_posix()
    return any(place == edge or place.startswith(f"{edge}/") for edge in EDGES)


CORE = [file for file in FILES if not is_edge(file) and wing_of(file) not in {"__init__", *BASE}]


def imports(found: Iterable[ast.AST]) -> Iterator[str]:
    """Full names of the modules that are imported in some nodes of a tree."""
    for node in found:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "foretrain":
            yield from (f"foretrain.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


@cache
def imports_of(file: Path) -> frozenset[str]:
    return frozenset(imports(nodes(file)))


def imports_at_start(file: Path) -> set[str]:
    """Modules that are loaded as soon as the file is."""
    statements = tree(file).body
    return {
        name
        for statement in statements
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in imports([statement])
    }


def wings_used(wing: str) -> set[str]:
    """Wings and files of the base that a wing imports from."""
    names = {name for file in files_of(wing) for name in imports_of(file)}
    inside = [name.split(".") for name in names if name.split(".")[0] == "foretrain"]
    return {parts[1] if len(parts) > 1 else "foretrain" for parts in inside}


@pytest.mark.parametrize("wing", WINGS)
def test_wing_imports_only_wings_before_it(wing):
    before = {*BASE, *WINGS[: WINGS.index(wing)]}
    assert wings_used(wing) - {wing} <= before


@pytest.mark.parametrize("name", BASE)
def test_the_base_imports_nothing_but_itself(name):
    assert wings_used(name) <= set(BASE)


def test_every_wing_stands_in_the_order():
    assert {wing_of(file) for file in FILES} - {"__init__", "__main__"} == {*BASE, *WINGS}


def test_the_transport_imports_nothing_of_foretrain():
    for file in TRANSPORT.rglob("*.py"):
        assert not {name for name in imports_of(file) if name.split(".")[0] == "foretrain"}, file


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {module_of(file): imports_at_start(file) for file in FILES}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_library_is_used_only_where_it_belongs(library):
    users = {
        wing_of(file)
        for file in FILES
        if library in {name.split(".")[0] for name in imports_of(file)}
    }
    assert users <= ONLY_IN[library]


def test_what_is_pure_imports_nothing_impure():
    found = {
        f"{module_of(file)}: {name}"
        for file in CORE
        for name in imports_of(file)
        if name.split(".")[0] in IMPURE_MODULES
        if name not in BESIDE.get(file.relative_to(SOURCE).as_posix(), ())
    }
    assert not found


def test_what_is_pure_opens_and_prints_nothing_and_draws_no_random_numbers():
    for file in CORE:
        calls = {
            node.func.id
            for node in nodes(file)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        drawn = {
            node.attr
            for node in nodes(file)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in {"np", "numpy"}
        }
        assert not calls & IMPURE_CALLS, file
        assert "random" not in drawn, file


def test_import_foretrain_loads_neither_heavy_libraries_nor_edges():
    code = "import sys, foretrain; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"torch", "scipy", "pydantic", "plotly", "jinja2", "rich", "typer"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    assert not {"foretrain.study", "foretrain.app", "batchcast"} & set(loaded)
