"""Randomised faults, played in a process of their own that takes in what its children leave."""

import subprocess
import sys
from pathlib import Path

from tests.examples import MORE, TENTH, slow
from tests.needs import needs

needs("torch")

ROOT = Path(__file__).parents[2]
# A program of the CI plays more.
RUNS = 1 if MORE == 1 else 20 if TENTH else 200


def test_no_sample_is_lost_or_doubled_whoever_is_killed_or_stopped():
    command = [sys.executable, "-m", "validation.faults", "--runs", str(RUNS), "--seed", "1000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    heads, cells = done.stdout.splitlines()[-2:]
    table = dict(zip(heads.split(" | "), cells.split(" | "), strict=True))
    assert table.pop("| runs") == f"| {RUNS}"
    told = {key: table[key] for key in ("lost", "doubled", "hangs", "problems")}
    assert set(told.values()) == {"0"}, done.stdout + done.stderr


@slow
def test_whoever_is_not_hit_by_a_fault_with_a_name_gets_all():
    command = [sys.executable, "-m", "validation.faults.named"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
