"""All runs, and the row of the table that they make."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from validation.faults.books import Books, books
from validation.faults.plan import Plan, draw
from validation.faults.run import Run

NOTICE = 1.0
"""Seconds within which a death must be noticed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run.

    Attributes:
        plan: of the run.
        run: how it went.
        books: what its readers got.
        errors: what its processes printed.
        seconds: that it took.
    """

    plan: Plan
    run: Run
    books: Books
    errors: str
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether nothing went wrong."""
        slow = any(seconds > NOTICE for _, seconds in self.run.noticed)
        wrong = self.books.lost or self.books.doubled or self.books.wrong
        ours = "/batchcast/" in self.errors  # a loader's own workers say more when they are killed
        return not (slow or wrong or self.run.problems or self.run.left or ours)


def outcome(seed: int) -> Outcome:
    """The run of that seed."""
    import torch

    torch.set_num_threads(1)
    plan = draw(seed, name=f"faults-{os.getpid()}-{seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(plan, Path(folder))
        run.play()
        path = Path(folder) / "errors"
        errors = path.read_text() if path.exists() else ""
        return Outcome(plan, run, books(plan, run.members), errors, time.monotonic() - began)


def main(arguments: list[str]) -> int:
    """Plays the runs; 1 if one of them went wrong."""
    parser = argparse.ArgumentParser(prog="python -m validation.faults")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--run", type=int, help="the seed of one run, told in detail")
    asked = parser.parse_args(arguments)
    if asked.run is not None:
        one = outcome(asked.run)
        print(detail(one))
        return not one.is_right
    outcomes = []
    for seed in range(asked.seed, asked.seed + asked.runs):
        outcomes.append(outcome(seed))
        if not outcomes[-1].is_right:
            print(detail(outcomes[-1]), flush=True)
    print(row(outcomes))
    return not all(each.is_right for each in outcomes)


def detail(one: Outcome) -> str:
    """A run in words."""
    lines = [f"seed {one.plan.seed}: {'right' if one.is_right else 'WRONG'}, {one.seconds:.1f} s"]
    lines += [f"  {one.plan}", f"  {one.books}", f"  faults: {one.run.hit}"]
    lines += [f"  {m.path.name}: {m.over}" for m in one.run.members]
    lines += [f"  noticed: {one.run.noticed}", f"  problems: {one.run.problems}"]
    return "\n".join([*lines, f"  left: {one.run.left}", one.errors[-4000:]])


def row(outcomes: list[Outcome]) -> str:
    """The row of the table."""
    slowest = max((s for each in outcomes for _, s in each.run.noticed), default=0.0)
    hits = sum(len(each.run.hit) for each in outcomes)
    cells = {
        "runs": len(outcomes),
        "faults": hits,
        "samples": sum(each.books.got for each in outcomes),
        "lost": sum(each.books.lost for each in outcomes),
        "doubled": sum(each.books.doubled for each in outcomes),
        "hangs": sum("hang" in each.run.problems for each in outcomes),
        "problems": sum(bool(each.run.problems or each.books.wrong) for each in outcomes),
        "slowest notice": f"{slowest:.3f} s",
        "left behind": sum(len(each.run.left) for each in outcomes),
    }
    return f"| {' | '.join(cells)} |\n| {' | '.join(str(cell) for cell in cells.values())} |"
