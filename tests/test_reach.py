"""What is reached: every module from a command or a public name, and few files by an estimate."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.parsed import nodes

SOURCE = Path(__file__).parents[1] / "src"
STUDY = Path(__file__).parents[1] / "examples" / "llama-3-70b-one-plan.toml"

COMMANDS_AND_NAMES = ("foretrain", "foretrain.__main__", "batchcast")
"""Where everything begins: the public names, `python -m foretrain`, and those of the transport."""


@cache
def modules() -> dict[str, Path]:
    """Each module of the packages by its name."""
    names = {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts): file
        for file in SOURCE.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): file for name, file in names.items()}


def used_by(name: str) -> set[str]:
    """Modules that one imports, or names in a text as what is to be loaded later or elsewhere.

    Such a text is code, or a place below the package: `module:name`.
    """
    found: set[str] = set()
    for node in nodes(modules()[name]):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(node.value.replace(";", " ").split())
            found.add(f"foretrain.{node.value.partition(':')[0]}")
    return found & set(modules())


def reached() -> set[str]:
    """What commands and public names lead to."""
    seen: set[str] = set()
    ahead = list(COMMANDS_AND_NAMES)
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead += used_by(name)
            ahead += [name.rpartition(".")[0]] if "." in name else []
    return seen


def test_every_module_is_reached_from_a_command_or_a_public_name():
    assert not set(modules()) - reached()


def files_of_an_estimate() -> set[str]:
    """Files whose functions run while a study that has been read is estimated, as profiled.

    A second estimate is watched, in an interpreter of its own: what is computed once and kept is
    not what a reader has to follow.
    """
    code = f"""
import sys, foretrain
seen = set()
study = foretrain.read_study({str(STUDY)!r})
foretrain.estimate(study)
study = foretrain.read_study({str(STUDY)!r})
sys.setprofile(lambda frame, event, _: seen.add(frame.f_code.co_filename))
foretrain.estimate(study)
sys.setprofile(None)
print(*sorted(name for name in seen if name.startswith({str(SOURCE)!r})), sep="\\n")
"""
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_a_plain_estimate_runs_through_at_most_forty_files():
    assert 10 < len(files_of_an_estimate()) <= 40
