"""Logs: what a run writes while it goes on, for people and for other programs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Logs
from foretrain.results.ensemble_run import MemberNow, Snapshot, State
from foretrain.run.members.checkpoint import write_whole

Writes = Callable[[Snapshot], None]

COLUMNS: Final = ("seconds", "member", "state", "epoch", "samples", "rate", "lag", "wait", "loss")

METRICS: Final = (
    ("samples_total", "counter", "Samples that the member trained on."),
    ("cpu_seconds_total", "counter", "Processor time of the member."),
    ("epoch", "gauge", "Epoch that the member is in."),
    ("rate", "gauge", "Samples per second."),
    ("lag_samples", "gauge", "Samples behind the member that is furthest."),
    ("wait_ratio", "gauge", "Share of the time without a batch."),
    ("loss", "gauge", "Mean loss since the last look."),
)


@contextmanager
def opened(logs: Logs, *, anew: bool) -> Iterator[Writes]:
    """What a look at a run is handed to, for every log that the study asks for.

    Args:
        logs: which, and where.
        anew: whether earlier rows are dropped.

    Raises:
        InputError: a log cannot be written, or needs a package that is not installed.
    """
    with ExitStack() as stack:
        writers: list[Writes] = []
        if logs.csv is not None:
            writers.append(stack.enter_context(_table(Path(logs.csv), anew=anew)))
        if logs.tensorboard is not None:
            writers.append(stack.enter_context(_board(logs.tensorboard)))
        if logs.prometheus is not None:
            path = Path(logs.prometheus)
            writers.append(lambda now: write_whole(path, lambda file: file.write(exposed(now))))
        yield lambda now: _all(writers, now)


def check_logs(logs: Logs) -> None:
    """Refuse a log whose package is missing, before anything is trained.

    Raises:
        InputError: naming the package.
    """
    if logs.tensorboard is not None and find_spec("tensorboard") is None:
        raise InputError(
            "logs.tensorboard: the package tensorboard is not installed. Run 'pip install"
            " tensorboard', or log to csv."
        )


def exposed(now: Snapshot) -> bytes:
    """A look as Prometheus reads it, in its text format 0.0.4."""
    lines: list[str] = []
    for name, kind, told in METRICS:
        full = f"foretrain_member_{name}"
        lines += [f"# HELP {full} {told}", f"# TYPE {full} {kind}"]
        lines += [
            f'{full}{{member="{each.name}"}} {value!r}'
            for each in now.members
            if (value := _values(each)[name]) is not None
        ]
    if now.fill is not None:
        lines += ["# HELP foretrain_stream_fill_ratio Slots not yet read by all members."]
        lines += ["# TYPE foretrain_stream_fill_ratio gauge"]
        lines += [f"foretrain_stream_fill_ratio {now.fill!r}"]
    return "\n".join([*lines, ""]).encode()


def _values(member: MemberNow) -> dict[str, float | None]:
    return {
        "samples_total": float(member.samples),
        "cpu_seconds_total": member.cpu,
        "epoch": float(member.epoch),
        "rate": member.rate,
        "lag_samples": float(member.lag),
        "wait_ratio": member.wait,
        "loss": member.loss,
    }


@contextmanager
def _table(path: Path, *, anew: bool) -> Iterator[Writes]:
    """A row for each member and look; a resumed run adds to the table of the earlier one."""
    begins = anew or not path.exists()
    try:
        file = path.open("w" if begins else "a", newline="", encoding="utf-8")
    except OSError as error:
        raise InputError(f"logs.csv: {path} cannot be written: {error.strerror}.") from error
    with file:
        rows = csv.writer(file)
        if begins:
            rows.writerow(COLUMNS)

        def write(now: Snapshot) -> None:
            rows.writerows(_row(now.seconds, each) for each in _active(now))
            file.flush()

        yield write


def _row(seconds: float, member: MemberNow) -> tuple[object, ...]:
    return (
        f"{seconds:.3f}",
        member.name,
        member.state.value,
        member.epoch,
        member.samples,
        f"{member.rate:.6g}",
        member.lag,
        f"{member.wait:.4f}",
        "" if member.loss is None else f"{member.loss:.6g}",
    )


@contextmanager
def _board(folder: str) -> Iterator[Writes]:
    """A run of curves for each member."""
    from torch.utils.tensorboard import SummaryWriter

    with ExitStack() as stack:
        writers: dict[str, SummaryWriter] = {}

        def write(now: Snapshot) -> None:
            for each in _active(now):
                if each.name not in writers:
                    made = SummaryWriter(str(Path(folder) / each.name))
                    writers[each.name] = made
                    stack.callback(made.close)
                for name in ("rate", "lag_samples", "wait_ratio", "loss"):
                    value = _values(each)[name]
                    if value is not None:
                        writers[each.name].add_scalar(name, value, each.samples)

        yield write


def _active(now: Snapshot) -> Sequence[MemberNow]:
    return [each for each in now.members if each.state is not State.WAITING]


def _all(writers: Sequence[Writes], now: Snapshot) -> None:
    for write in writers:
        write(now)
