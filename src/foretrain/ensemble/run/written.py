"""What a run writes: checkpoints and logs.

Checkpoints: files that are whole or not there, whatever happens while they are written.

Logs: what a run writes while it goes on, for people and for other programs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import IO, Any, Final

from foretrain.ensemble.result import MemberNow, MemberState, Snapshot
from foretrain.errors import InputError, shortened
from foretrain.measured.ensemble_study import Logs
from foretrain.study.documents import from_json
from foretrain.study.files import check_file, exists, read_text, write_text, write_whole

MANIFEST: Final = "run.json"
SUFFIX: Final = ".pt"
MOST_KEPT: Final = 16 * 2**20
"""Of the manifest, which names each member at most twice."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps what survives a reboot: a state of each member, and how far the run is.

    Attributes:
        path: the folder.
    """

    path: Path

    def claim(self, question: str, *, resume: bool) -> dict[str, Any]:
        """What an earlier run of the same study has kept; nothing for a new one.

        Args:
            question: fingerprint of the study.
            resume: whether to go on with it.

        Raises:
            InputError: a run is there and is not to be resumed, none is there, or another study's.
        """
        manifest = self.path / MANIFEST
        if not resume:
            if exists(manifest):
                raise InputError(
                    f"{self.path} holds a run. Go on with it by --resume, or name another folder."
                )
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"{self.path} cannot hold a run: {error.strerror}.") from error
            return {}
        if not exists(manifest):
            raise InputError(f"{self.path} holds no run to resume. Start one without --resume.")
        kept = self._facts()
        if kept["question"] != question:
            raise InputError(
                f"{self.path} holds a run of another study, or this one was changed since."
                " Resume it with the study as it was, or name another folder."
            )
        return kept

    def _facts(self) -> dict[str, Any]:
        """What was kept of how far the run is."""
        manifest = self.path / MANIFEST
        kept = from_json(read_text(manifest, most=MOST_KEPT), str(manifest))
        sound = {"question": str, "name": str, "ended": list, "compared": int}
        wrong = [
            key for key, value in kept.items() if not isinstance(value, sound.get(key, object))
        ]
        if wrong or "question" not in kept:
            told = ", ".join(wrong) or "question"
            raise InputError(
                f"{manifest} is damaged: see {told}. Start the run again in another folder."
            )
        return kept

    def add(self, facts: Mapping[str, Any]) -> None:
        """Keep how far the run is, besides what was kept before."""
        manifest = self.path / MANIFEST
        before = self._facts() if exists(manifest) else {}
        write_text(manifest, json.dumps({**before, **facts}, indent=2))

    def save(self, member: str, state: Mapping[str, Any]) -> None:
        """Keep the state of a member, in place of its last one."""
        write_whole(self.path / f"{member}{SUFFIX}", partial(_dump, dict(state)))

    def load(self, member: str) -> dict[str, Any] | None:
        """The state of a member; None where there is none yet.

        Raises:
            InputError: the file is not one of ours.
        """
        import torch

        path = self.path / f"{member}{SUFFIX}"
        if not exists(path):
            return None
        check_file(path)
        try:
            state: object = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except Exception as error:  # PyTorch raises whatever a damaged file makes it stumble over
            raise InputError(
                f"{path} is no state of a member: {shortened(str(error), most=200)}"
            ) from error
        # States of older runs tell more.
        tally = state.get("tally") if isinstance(state, dict) else None
        if (
            not isinstance(state, dict)
            or not isinstance(tally, dict)
            or not isinstance(tally.get("epoch"), int)
        ):
            raise InputError(f"{path} is no state of a member: it does not say how far that is.")
        return state

    def progress(self, member: str) -> dict[str, Any] | None:
        """How far a member had come at its last state; its weights stay on disk."""
        state = self.load(member)
        return dict(state["tally"]) if state else None


def _dump(state: dict[str, Any], file: IO[bytes]) -> None:
    """Write a state as PyTorch does, which hides from its caller why a file takes no more."""
    import torch

    try:
        torch.save(state, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from error
        raise


Writes = Callable[[Snapshot], None]

COLUMNS: Final = ("seconds", "member", "state", "epoch", "samples", "rate", "lag", "wait", "loss")

MOST_BYTES: Final = 2**30
"""Of a table that a resumed run goes on with: some twenty million rows."""

METRICS: Final = (
    ("samples_total", "counter", "Samples that the member trained on."),
    ("cpu_seconds_total", "counter", "Processor time of the member."),
    ("epoch", "gauge", "Epoch that the member is in."),
    ("rate", "gauge", "Samples per second."),
    ("lag_samples", "gauge", "Samples behind the member that is furthest."),
    ("wait_ratio", "gauge", "Share of the time without a batch."),
    ("loss", "gauge", "Mean loss since the last look."),
)


@dataclass(slots=True)
class LogFiles:
    """The logs of a run. One that takes no more is given up, and the run goes on.

    Attributes:
        writers: of each log, by its key in the study.
        lost: what to say of those that were given up.
    """

    writers: dict[str, Writes] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def write(self, now: Snapshot) -> None:
        """Hand a look at the run to every log."""
        for key, write in list(self.writers.items()):
            try:
                write(now)
            except (InputError, OSError) as error:
                del self.writers[key]
                self.lost.append(f"logs.{key}: {error}; nothing was added from then on.")


@contextmanager
def opened(logs: Logs, *, anew: bool) -> Iterator[LogFiles]:
    """Every log that the study asks for.

    Args:
        logs: which, and where.
        anew: whether earlier rows are dropped.

    Raises:
        InputError: a log cannot be written, or needs a package that is not installed.
    """
    with ExitStack() as stack:
        files = LogFiles()
        if logs.csv is not None:
            files.writers["csv"] = _table(Path(logs.csv), anew=anew)
        if logs.tensorboard is not None:
            files.writers["tensorboard"] = stack.enter_context(_board(logs.tensorboard))
        if logs.prometheus is not None:
            path = Path(logs.prometheus)
            files.writers["prometheus"] = lambda now: write_text(path, exposed(now))
        yield files


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


def exposed(now: Snapshot) -> str:
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
    return "\n".join([*lines, ""])


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


def _table(path: Path, *, anew: bool) -> Writes:
    """A row for each member and look; a resumed run adds to the table of the earlier one."""
    before = ""
    if not anew and exists(path):
        # Whole lines: the last one may have been cut off.
        before = read_text(path, most=MOST_BYTES)
        before = before[: before.rfind("\n") + 1]
    write_text(path, before or _lines([COLUMNS]))

    def write(now: Snapshot) -> None:
        with path.open("a", newline="", encoding="utf-8") as file:
            file.write(
                _lines(
                    (
                        f"{now.seconds:.3f}",
                        each.name,
                        each.state.value,
                        each.epoch,
                        each.samples,
                        f"{each.rate:.6g}",
                        each.lag,
                        f"{each.wait:.4f}",
                        "" if each.loss is None else f"{each.loss:.6g}",
                    )
                    for each in _active(now)
                )
            )

    return write


def _lines(rows: Iterable[Sequence[object]]) -> str:
    made = StringIO()
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


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
    return [each for each in now.members if each.state is not MemberState.WAITING]
