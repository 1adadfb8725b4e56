"""Ensembles: what training many models over one stream takes, beside a loader for each.

    python benchmarks/ensemble.py                    # two minutes, wide bars
    python benchmarks/ensemble.py ratio-8 wall       # rows by name, 20 s per cell, five repetitions
    python benchmarks/ensemble.py --list             # their names, and how long they take
    python benchmarks/ensemble.py --record wall      # and writes recorded/ensemble.toml
    python benchmarks/ensemble.py --record --into F  # or into another file
    python benchmarks/ensemble.py --page             # the tables of the docs from what is recorded

Rows that are named together are measured together, what they have in common once.

Processor seconds are exact for the whole tree of processes, every process is forked from one that
has imported torch, methods take turns, and every member's samples are counted and checked. The exit
status is 1 if a figure misses its bar. TensorSocket is measured where it is installed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benchmarks" / "recorded" / "ensemble.toml"
OTHER = RECORDED.with_name("ensemble-xeon.toml")
"""The same on another machine."""
PAGE = ROOT / "docs" / "background" / "ensemble-speed.md"
NEEDED = {"torch": "torch", "PIL": "Pillow"}
MINUTES = 0.45
"""Minutes that a cell takes with its trial and its repetitions, per repetition."""


def main(arguments: list[str]) -> int:
    """Measures what was asked for; 1 if a figure misses its bar."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing or not sys.platform.startswith("linux"):
        print(f"skipped: needs {' and '.join(['Linux', *missing])}")
        return 0
    sys.path.insert(0, str(ROOT))
    from ensemble_parts.page import write_page
    from ensemble_parts.rows import ROWS

    asked = _parser().parse_args(arguments)
    if unknown := set(asked.rows) - set(ROWS):
        print(f"unknown row {', '.join(sorted(unknown))}. Known: {', '.join(ROWS)}.")
        return 2
    if asked.page:
        write_page(PAGE, RECORDED, OTHER)
        return 0
    if asked.list:
        minutes = {name: asked.repetitions * MINUTES * len(row.cells) for name, row in ROWS.items()}
        print("\n".join(f"{name}: {length:.0f} min" for name, length in minutes.items()))
        return 0
    return _measure(asked)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="none: a short run of four members")
    parser.add_argument("--list", action="store_true", help="rows, and how long they take")
    parser.add_argument("--record", action="store_true", help="what comes out")
    into = f"default: {RECORDED.relative_to(ROOT)}"
    parser.add_argument("--into", type=_file, default=RECORDED, metavar="FILE", help=into)
    parser.add_argument("--page", action="store_true", help=f"tables of {PAGE.relative_to(ROOT)}")
    parser.add_argument("--repetitions", type=int, default=5, help="of each cell of a row")
    return parser


def _file(text: str) -> Path:
    """A file that can be written after an hour of measuring."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder, or lies in none that there is")
    return path


def _measure(asked: argparse.Namespace) -> int:
    """Measures the cells of all rows in turns, prints the rows; records them after each turn."""
    import torch
    from ensemble_parts.recorded import Came, now, record
    from ensemble_parts.rounds import FULL, QUICK, measured
    from ensemble_parts.rows import QUICK_ROW, ROWS
    from ensemble_parts.workload import PLAIN, draw, network
    from validation.parts.claims import table

    torch.set_num_threads(1)
    network(PLAIN)  # what an optimizer imports is imported before the first fork
    chosen = {name: ROWS[name] for name in _installed(asked.rows)}
    rows = chosen if asked.rows else {"quick": QUICK_ROW}
    effort = replace(FULL, repetitions=asked.repetitions) if asked.rows else QUICK
    cells = [cell for row in rows.values() for cell in row.cells]
    before = os.getloadavg()[0]
    came: dict[str, Came] = {}
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), effort.pictures)
        for taken in measured(cells, effort, Path(folder)):
            load = before, os.getloadavg()[0]
            for name, row in rows.items():
                came[name] = Came(when=now(), load=load, effort=effort, row=row, taken=taken)
            if asked.record:
                record(asked.into, came)
    claims = [claim for each in came.values() for claim in each.claims]
    print("\n".join(table(claims)) if claims else "nothing was measured")
    return 1 if any(claim.kept is False for claim in claims) else 0


def _installed(names: list[str]) -> list[str]:
    """The rows that can be measured here."""
    if find_spec("tensorsocket") is not None:
        return names
    if peers := [name for name in names if name.startswith("tensorsocket")]:
        print(f"{', '.join(peers)}: skipped, TensorSocket is not installed")
    return [name for name in names if name not in peers]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
