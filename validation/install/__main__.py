"""Whether what a plain installation offers works after it: commands, examples, policies, answers.

    python -m validation.install

Makes two virtual environments, one with nothing but `pip install .`, one with the lowest version
of every dependency that pyproject.toml allows, and runs in each what `inside.py` finds in the code.
Warnings are errors there. The exit status is 1 if anything fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from venv import EnvBuilder

PROJECT = Path(__file__).parents[2]
INSIDE = Path(__file__).with_name("inside.py")
AT_LEAST = re.compile(r"(?P<name>[\w-]+)>=(?P<version>[\w.]+)")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


def lowest(dependencies: Sequence[str]) -> Iterator[str]:
    """What pip takes for the lowest version of each: "numpy>=2.0" becomes "numpy==2.0"."""
    for dependency in dependencies:
        found = AT_LEAST.fullmatch(dependency)
        if found is None:
            raise SystemExit(f"pyproject.toml: {dependency!r} says no lowest version (name>=1.2).")
        yield f"{found['name']}=={found['version']}"


def environments() -> Mapping[str, tuple[str, ...]]:
    """Each environment with what is pinned in it."""
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    return {"newest": (), "lowest": tuple(lowest(tomllib.loads(text)["project"]["dependencies"]))}


def tried(name: str, pinned: Sequence[str], *, folder: Path) -> bool:
    """Make an environment and run everything in it; prints what came out."""
    began, place = monotonic(), folder / name
    EnvBuilder(with_pip=False).create(place)
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pins = folder / f"{name}.txt"
    pins.write_text("\n".join(pinned), encoding="utf-8")
    install = (*PIP, "--python", python, "install", "--quiet", "--constraint", pins, PROJECT)
    code, told = run(*install)
    if code == 0:
        code, told = run(python, "-I", "-W", "error", INSIDE, PROJECT, cwd=folder)
    end = monotonic()
    print(f"== {name}: {', '.join(pinned) or 'as pip chooses'}\n{told}", end="")
    print(f"{name}: {'kept' if code == 0 else 'MISSED'} in {end - began:.0f} s", flush=True)
    return code == 0


def run(*command: str | Path, cwd: Path | None = None) -> tuple[int, str]:
    """Exit status of a command, and all that it printed."""
    ended = subprocess.run(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return ended.returncode, ended.stdout


def main() -> int:
    """Both environments at once."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        asked = [
            pool.submit(tried, name, pinned, folder=Path(folder))
            for name, pinned in environments().items()
        ]
        kept = [each.result() for each in asked]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
