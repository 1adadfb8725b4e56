"""Ensembles: what training many models over one stream takes, beside a loader for each.

    python benchmarks/ensemble.py                    # half a minute, wide bars
    python benchmarks/ensemble.py ratio-8 wall       # rows by name, 20 s per cell, five repetitions
    python benchmarks/ensemble.py --rows             # their names, and how long they take
    python benchmarks/ensemble.py --record wall      # and writes recorded/ensemble.toml

Processor seconds are exact for the whole tree of processes, every process is forked from one that
has imported torch, methods take turns, and every member's samples are counted and checked. The exit
status is 1 if a figure misses its bar. TensorSocket is measured where it is installed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benchmarks" / "recorded" / "ensemble.toml"
NEEDED = {"torch": "torch", "PIL": "Pillow"}
MINUTES = 0.45
"""Minutes that a cell takes with its trial and its repetitions, per repetition."""


def main(arguments: list[str]) -> int:
    """Measures what was asked for; 1 if a figure misses its bar."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing or not sys.platform.startswith("linux"):
        print(f"skipped: needs Linux, and {' and '.join(missing or NEEDED.values())}")
        return 0
    sys.path.insert(0, str(ROOT))
    from ensemble_parts.rows import ROWS

    names = [argument for argument in arguments if not argument.startswith("--")]
    if unknown := set(names) - set(ROWS):
        print(f"unknown row {', '.join(sorted(unknown))}. Known: {', '.join(ROWS)}.")
        return 2
    if "--rows" in arguments:
        print(
            "\n".join(
                f"{name}: {5 * MINUTES * len(row.cells):.0f} min" for name, row in ROWS.items()
            )
        )
        return 0
    return _measure(names, keep="--record" in arguments)


def _measure(names: list[str], *, keep: bool) -> int:
    """Measures rows, or without a name the quick one; prints them and records them if asked."""
    import torch
    from ensemble_parts.recorded import Came, now, record
    from ensemble_parts.rounds import FULL, QUICK, measured
    from ensemble_parts.rows import QUICK_ROW, ROWS
    from ensemble_parts.workload import PLAIN, draw, network
    from validation.claims import table

    torch.set_num_threads(1)
    network(PLAIN)  # what an optimizer imports is imported before the first fork
    rows, effort = (
        ({name: ROWS[name] for name in names}, FULL) if names else ({"quick": QUICK_ROW}, QUICK)
    )
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder), effort.pictures)
        for name, row in rows.items():
            if "tensorsocket" in name and find_spec("tensorsocket") is None:
                print(f"{name}: skipped, TensorSocket is not installed")
                continue
            before = os.getloadavg()[0]
            taken = measured(row.cells, effort, Path(folder))
            claims = list(row.claims(taken))
            print("\n".join(table(claims)), flush=True)
            kept = kept and all(claim.kept is not False for claim in claims)
            if keep:
                load = (before, os.getloadavg()[0])
                came = Came(when=now(), load=load, effort=effort, claims=claims, taken=taken)
                record(RECORDED, {name: came})
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
