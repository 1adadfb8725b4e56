"""The map of the code: who may import whom, and what the core may not touch."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "foretrain"
FILES = sorted(SOURCE.rglob("*.py"))

BASE = {"units", "errors", "throughput", "events", "extras", "statistics"}
NOUNS = {"workload", "cluster", "plan", "measured", "coefficients"}
PHYSICS = {"strategies", "cost", "queueing", "simulate"}
QUESTIONS = {"search", "explain", "calibrate", "ensemble", "jobs"}
EDGES = {"readers", "files", "export", "run", "report", "cli", "web"}

MAY_USE = {
    **dict.fromkeys(BASE, BASE),
    "workload": BASE,
    "cluster": BASE,
    "coefficients": BASE | {"cluster"},
    "queueing": BASE,
    "plan": BASE | {"workload", "cluster"},
    "measured": BASE | {"workload", "cluster", "plan"},
    "results": BASE | NOUNS,
    "strategies": BASE | {"workload", "cluster", "plan"},
    "cost": BASE | NOUNS | {"strategies", "queueing"},
    "simulate": BASE | NOUNS | {"strategies", "cost", "queueing"},
    "search": BASE | NOUNS | PHYSICS | {"results"},
    "explain": BASE | NOUNS | PHYSICS | {"results"},
    "calibrate": BASE | NOUNS | PHYSICS | {"results"},
    "ensemble": BASE | NOUNS | PHYSICS | {"results", "search", "explain", "calibrate"},
    "jobs": BASE | {"cluster", "measured", "queueing", "results"},
    "readers": BASE | {"workload"},
    "files": BASE | NOUNS | {"results", "readers"},
    "export": BASE | NOUNS | {"results"},
    "run": BASE | NOUNS | {"results", "files", "ensemble"},
    "report": BASE | NOUNS | {"results"},
    "verbs": BASE | NOUNS | PHYSICS | QUESTIONS | EDGES - {"cli", "web"} | {"results"},
    "cli": BASE | NOUNS | {"results", "verbs", "files", "report"},
    "web": BASE | NOUNS | {"results", "verbs", "files", "report"},
}

ONLY_IN = {
    "pydantic": {"files", "web"},
    "typer": {"cli"},
    "rich": {"cli", "report"},
    "jinja2": {"report", "web"},
    "plotly": {"report", "web"},
}

CORE = sorted(NOUNS | PHYSICS | QUESTIONS | {"results"})
IMPURE_MODULES = {
    "datetime", "glob", "io", "logging", "multiprocessing", "os", "pathlib", "random", "shutil",
    "socket", "subprocess", "sys", "tempfile", "threading", "time", "torch", "urllib",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input"}


def package_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def module_of(file: Path) -> str:
    return ".".join(["foretrain", *file.relative_to(SOURCE).with_suffix("").parts])


def files_of(package: str) -> list[Path]:
    return [file for file in FILES if package_of(file) == package]


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of the modules that a tree imports, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "foretrain":
            yield from (f"foretrain.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


@cache
def imports_of(file: Path) -> frozenset[str]:
    return frozenset(imports(ast.parse(file.read_text())))


def imports_at_start(file: Path) -> set[str]:
    """Modules that are loaded as soon as the file is."""
    statements = ast.parse(file.read_text()).body
    return {
        name
        for statement in statements
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for name in imports(statement)
    }


def packages_used(file: Path) -> set[str]:
    """Packages of foretrain that a file imports from; `foretrain` itself where it names no one."""
    inside = [name.split(".") for name in imports_of(file) if name.split(".")[0] == "foretrain"]
    return {parts[1] if len(parts) > 1 else "foretrain" for parts in inside}


@pytest.mark.parametrize("package", sorted(MAY_USE))
def test_package_imports_only_what_it_may(package):
    used = {name for file in files_of(package) for name in packages_used(file)} - {package}
    assert used <= MAY_USE[package]


def test_every_package_stands_in_the_table():
    assert {package_of(file) for file in FILES} - {"__init__", "__main__"} <= set(MAY_USE)


def test_modules_do_not_import_each_other_in_a_circle():
    graph = {module_of(file): imports_at_start(file) for file in FILES}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("library", sorted(ONLY_IN))
def test_library_is_used_only_where_it_belongs(library):
    users = {
        package_of(file)
        for file in FILES
        if library in {name.split(".")[0] for name in imports_of(file)}
    }
    assert users <= ONLY_IN[library]


@pytest.mark.parametrize("package", CORE)
def test_core_imports_nothing_impure(package):
    used = {name.split(".")[0] for file in files_of(package) for name in imports_of(file)}
    assert not used & IMPURE_MODULES


@pytest.mark.parametrize("package", CORE)
def test_core_opens_and_prints_nothing_and_draws_no_random_numbers(package):
    for file in files_of(package):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        calls = {
            node.func.id
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        drawn = {
            node.attr
            for node in nodes
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
    assert not {f"foretrain.{edge}" for edge in EDGES} & set(loaded)
