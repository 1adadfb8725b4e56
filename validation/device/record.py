"""Records what training costs on this machine: `python validation/device/record.py --minutes 20`.

Needs PyTorch and nothing else; the folder may be copied to a machine without foretrain. Writes CSV
tables, row by row; started again, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from recorder import operators
from recorder.campaign import ON_CPU, ON_GPU
from recorder.machine import Machine, this_machine
from recorder.rows import COLUMNS, Recording
from recorder.tables import TableFile
from recorder.timing import Timing
from recorder.training import outcome_of

FOLDER = Path(__file__).parent / "recorded"
OPERATORS_SHARE = 0.3
"""Share of the time for operators, where both are recorded."""


def main() -> None:
    """Records until everything is recorded or the time is up."""
    asked = _asked()
    machine = this_machine(cores=asked.cores)
    now = datetime.now(UTC)
    folder = asked.out or FOLDER / f"{now:%Y-%m-%d}-{machine.slug}"
    folder.mkdir(parents=True, exist_ok=True)
    source = f"own-{machine.slug}-{now:%Y-%m}"
    recording = Recording(source_id=source, date=f"{now:%Y-%m-%d}", machine=machine)
    (folder / "machine.toml").write_text(machine.document(recording.date) + "\n", "utf-8")
    start, seconds = time.monotonic(), 60.0 * asked.minutes
    until = start + seconds * (OPERATORS_SHARE if asked.only is None else 1.0)
    if asked.only != "trainings":
        _record_operators(recording, folder, until=until)
    if asked.only != "operators":
        _record_trainings(recording, folder, until=start + seconds)
    print(f"{folder}: recorded in {(time.monotonic() - start) / 60:.1f} minutes")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="begin nothing new after these")
    parser.add_argument("--out", type=Path, help="folder to write to, or to go on in")
    parser.add_argument("--cores", type=int, help="of a processor; all that there are by default")
    parser.add_argument("--only", choices=("trainings", "operators"), help="record only these")
    return parser.parse_args()


def _record_trainings(recording: Recording, folder: Path, *, until: float) -> None:
    tables = {name: TableFile(folder / f"{name}.csv", each) for name, each in COLUMNS.items()}
    done = {name: table.ids() for name, table in tables.items()}["memory"]
    campaign = ON_GPU if recording.machine.is_gpu else ON_CPU
    left = [each for each in campaign if f"{recording.source_id}-{each.slug}" not in done]
    for number, training in enumerate(_in_time(left, until), 1):
        outcome = outcome_of(training, recording.machine, repeats=10)
        for name, row in recording.rows(training, outcome):
            tables[name].append(row)
        took = f"{outcome.timing.seconds:.4g} s" if outcome.timing else "out of memory"
        print(f"{number}/{len(left)} {training.slug}: {took}", flush=True)


def _record_operators(recording: Recording, folder: Path, *, until: float) -> None:
    table = TableFile(folder / "operators.csv", operators.COLUMNS)
    done = table.ids()
    machine = recording.machine
    sweep = [each for each in operators.sweep(machine) if _id(recording, each.slug) not in done]
    for number, operator in enumerate(_in_time(sweep, until), 1):
        row = _operator_row(recording, operator, machine)
        table.append(row)
        print(f"{number}/{len(sweep)} {operator.slug}: {row.get('seconds', 'no')} s", flush=True)


def _operator_row(
    recording: Recording, operator: operators.Operator, machine: Machine
) -> dict[str, object]:
    timing = operators.timing_of(operator, machine)
    return {
        "id": _id(recording, operator.slug),
        "source_id": recording.source_id,
        "date": recording.date,
        "gpu_norm": machine.name,
        "framework": machine.framework,
        "operator": operator.name,
        "pass": operator.direction,
        "precision": operator.precision,
        "shape": operator.shape,
        "flop": f"{operator.flop:.6g}",
        "bytes": f"{operator.moved:.6g}",
        "calls": operator.calls,
        "notes": machine.seconds_of,
        **(_reached(operator, timing) if timing else {"check": "out of memory"}),
    }


def _reached(operator: operators.Operator, timing: Timing) -> dict[str, object]:
    """Seconds of one call, and the rates that they mean."""
    seconds = timing.seconds / operator.calls
    return {
        "seconds": f"{seconds:.6g}",
        "lower_quartile": f"{timing.lower_quartile / operator.calls:.6g}",
        "least": f"{timing.least / operator.calls:.6g}",
        "repeats": timing.repeats,
        "tflops": f"{operator.flop / seconds / 1e12:.4g}" if operator.flop else "",
        "gbs": f"{operator.moved / seconds / 1e9:.4g}" if operator.moved else "",
        "check": "other programs took part of the processor" if timing.disturbed else "",
    }


def _id(recording: Recording, slug: str) -> str:
    return f"{recording.source_id}-{slug}"


def _in_time(items: Sequence, until: float) -> Iterator:
    """Items one by one until the time is up."""
    for item in items:
        if time.monotonic() > until:
            return
        yield item


if __name__ == "__main__":
    main()
