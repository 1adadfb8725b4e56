"""Every file that a command writes, where writing fails: the old file or the new one, one message.

    python -m validation.writes                # each output: a full disk, a locked folder, 20 kills
    python -m validation.writes --tenth        # of some outputs, drawn by a seed that is printed
    python -m validation.writes --seed 4711    # the same outputs and moments again

A command's page, set or table is written over an old one: on a disk that is full (a small one in
memory for root, a limit on the size of files for others), in a folder that may only be read, and by
a process that is killed at random moments of the writing. What is there afterwards must be the old
file or the new one, and the command must have said so in one line.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from types import FrameType
from typing import get_args, get_type_hints

from typer.models import OptionInfo

from foretrain.app.commands.ensemble import ensemble
from foretrain.app.main import app
from foretrain.study import files as writing

ROOT = Path(__file__).parents[1]
KILLS = 20
OLD = b"what was there before\n"

STUDY = """
[workload]
model = "llama-3-8b"
global_batch = 64
sequence = 4096
[cluster]
name = "dgx-h100"
nodes = 1
[plan]
tensor = [1, 2]
micro_batch = 1
recompute = "none"
"""
STEP = "5.891 s"
LARGEST = STUDY.replace("micro_batch = 1\n", "") + '[search]\nmaximise = "micro_batch"\n'
PLAN = STUDY.replace("[1, 2]", "8") + 'sharding = "optimizer"\n'
QUEUE = """
[cluster]
name = "dgx-h100"
nodes = 1
[jobs]
draw = 40
[simulation]
policies = ["fifo"]
loads = [0.5]
"""
FIGURES = """
sample = { prepare = "1 ms", size = "16 B", count = 24 }
alone = { time = "1 ms", cpu = "1 ms", memory = "10 MB" }
"""
ENSEMBLE = f"""
[ensemble]
name = "writes-{os.getpid()}"
data = "tiny:points"
batch = 6
epochs = 1
loss = "mse_loss"
optimizer = {{ name = "sgd", lr = 0.05 }}
{FIGURES}
[checkpoints]
folder = "there/states"
[logs]
every = "0.1 s"
csv = "there/table.csv"
prometheus = "there/page.prom"
[[members]]
name = "a"
model = "tiny:build"
"""
TINY = """
import torch


class Points(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, number):
        return torch.full((3,), float(number)), torch.zeros(1)


def points():
    return Points()


def build():
    return torch.nn.Linear(3, 1)
"""

INPUTS = {
    "study.toml": STUDY,
    "largest.toml": LARGEST,
    "plan.toml": PLAN,
    "queue.toml": QUEUE,
    "ensemble.toml": ENSEMBLE,
    "tiny.py": TINY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A command that writes.

    Attributes:
        command: its words, without the option that names the file.
        option: that names the file or folder; empty where the study does.
        file: what it names, below the folder `there`.
        old: whether an old file lies there before; a folder of results begins empty.
    """

    command: str
    option: str
    file: str = "page.html"
    old: bool = True

    @property
    def words(self) -> list[str]:
        """Of the command, in which a value may hold a space."""
        return shlex.split(self.command)

    def run(self, folder: Path, *, room: int | None = None) -> subprocess.CompletedProcess[str]:
        """Its end in a folder, with so many bytes of room in a file."""
        named = [self.option, f"there/{self.file}"] if self.option else []
        return subprocess.run(
            [sys.executable, "-m", "foretrain", *self.words, *named],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])},
            capture_output=True,
            text=True,
            preexec_fn=None if room is None else lambda: _limit(room),
            check=False,
        )

    def __str__(self) -> str:
        return f"{' '.join(each for each in self.words if each[0] != '-')} {self.option}"


def _limit(room: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))


OUTPUTS = (
    Output(command="search study.toml", option="--html"),
    Output(command="search largest.toml", option="--html"),
    Output(command="simulate queue.toml", option="--html"),
    Output(command="simulate queue.toml", option="--keep", file="kept", old=False),
    Output(command="validate runs.csv --kind=llm_training", option="--html"),
    Output(command="ensemble estimate ensemble.toml", option="--html"),
    Output(command=f"calibrate plan.toml --step-time='{STEP}'", option="--output", file="set.toml"),
    Output(command="ensemble run ensemble.toml", option="", file="states", old=False),
)

READ = {"--coefficients"}
"""Options of commands that name a file which is read."""


def main(arguments: Sequence[str]) -> int:
    """Play all outputs; 1 if anything torn, silent or untidy was found."""
    parser = argparse.ArgumentParser(prog="python -m validation.writes")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--tenth", action="store_true")
    asked = parser.parse_args(arguments)
    print(f"seed {asked.seed}; as {'root, on small disks' if is_root() else 'a plain user'}")
    print(f"{'output':42} {'full disk':10} {'locked':10} {KILLS} kills")
    wrong = [f"{each}: is in no list here" for each in unlisted()]
    random = Random(asked.seed)
    for output in random.sample(OUTPUTS, 1) if asked.tenth else OUTPUTS:
        content = written(output)
        found = {
            "full disk": list(refused(output, full=True)),
            "locked": list(refused(output, full=False)),
            "kills": list(killed(content, random)),
        }
        told = [f"{'WRONG' if each else 'whole':10}" for each in found.values()]
        print(f"{output!s:42} {' '.join(told)}", flush=True)
        wrong += [f"{output}, {where}: {what}" for where, some in found.items() for what in some]
    print(*wrong, sep="\n")
    return bool(wrong)


def is_root() -> bool:
    """Whether we may mount."""
    return os.geteuid() == 0


def unlisted() -> list[str]:
    """Options that name a file to be written and stand in no output."""
    listed = {each.option for each in OUTPUTS} | READ
    commands = [*app.registered_commands, *ensemble.registered_commands]
    return [
        f"{command.callback.__name__} {option.param_decls[0]}"
        for command in commands
        if command.callback
        for hint in get_type_hints(command.callback, include_extras=True).values()
        for option in getattr(hint, "__metadata__", ())
        if isinstance(option, OptionInfo) and Path in get_args(hint.__origin__)
        if option.param_decls and option.param_decls[0] not in listed
    ]


@contextmanager
def folder_with(output: Output) -> Iterator[tuple[Path, Path]]:
    """A folder with all that the commands read, and in it, on a disk of its own, `there`."""
    with tempfile.TemporaryDirectory(prefix="writes-") as made:
        folder, there = Path(made), Path(made) / "there"
        there.mkdir()
        for name, text in INPUTS.items():
            (folder / name).write_text(text)
        rows = (ROOT / "validation/tables/llm_training.csv").read_text().splitlines()
        (folder / "runs.csv").write_text("\n".join(rows[:3]) + "\n")
        if is_root():
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", there], check=True)
        try:
            if output.old:
                (there / output.file).write_bytes(OLD)
            yield folder, there
        finally:
            if is_root():
                subprocess.run(["umount", there], check=True)
            there.chmod(0o755)


def written(output: Output) -> bytes:
    """What the command writes where nothing is in its way."""
    with folder_with(output) as (folder, there):
        ended = output.run(folder)
        assert ended.returncode == 0, f"{output}: {ended.stderr}"
        found = there / output.file
        files = sorted(found.iterdir()) if found.is_dir() else [found]
        return files[0].read_bytes()


def refused(output: Output, *, full: bool) -> Iterator[str]:
    """What is wrong where the disk is full, or the folder may only be read."""
    with folder_with(output) as (folder, there):
        if full:
            _fill(there)
        elif is_root():
            subprocess.run(["mount", "-o", "remount,ro", there], check=True)
        else:
            there.chmod(0o555)
        before = sorted(each.name for each in there.iterdir())
        ended = output.run(folder, room=len(OLD) if full and not is_root() else None)
        after = sorted(each.name for each in there.iterdir() if not _empty(each))
        if (ended.returncode, ended.stderr.count("error: ")) != (1, 1):
            yield f"ended with {ended.returncode} and said {ended.stderr!r}"
        if "Traceback" in ended.stderr:
            yield "a traceback"
        if after != before:
            yield f"{before} became {after}"
        if output.old and (there / output.file).read_bytes() != OLD:
            yield "the old file is gone"


def _empty(path: Path) -> bool:
    """Whether it is a folder in which nothing could be put."""
    return path.is_dir() and not any(path.iterdir())


def _fill(there: Path) -> None:
    if is_root():
        filler = os.open(there / "filler", os.O_WRONLY | os.O_CREAT)
        with suppress(OSError):
            while os.write(filler, bytes(2**20)):
                pass
        os.close(filler)


def killed(content: bytes, random: Random) -> Iterator[str]:
    """What is wrong after a writer was killed, before some step of the writing drawn at random."""
    with tempfile.TemporaryDirectory(prefix="writes-") as made:
        path = Path(made) / "file"
        path.write_bytes(OLD)
        steps = _steps(path, content, last=None)
        for _ in range(KILLS):
            path.write_bytes(OLD)
            last = random.randrange(steps)
            _steps(path, content, last=last)
            if path.read_bytes() not in {OLD, content}:
                yield f"killed before step {last} of {steps}, it left {path.stat().st_size} bytes"


def _steps(path: Path, content: bytes, *, last: int | None) -> int:
    """Write in a process that is killed before a step, a line or call of the door; how many."""
    reading, told = os.pipe()
    child = os.fork()
    if not child:
        count = 0

        def step(frame: FrameType, event: str, _: object) -> None:
            nonlocal count
            if frame.f_code.co_filename in {writing.__file__, __file__}:
                if count == last:
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1

        sys.setprofile(step)
        halves = content[: len(content) // 2], content[len(content) // 2 :]
        writing.write_whole(
            path, lambda file: [(file.write(half), file.flush()) for half in halves]
        )
        sys.setprofile(None)
        os.write(told, str(count).encode())
        os._exit(0)
    os.close(told)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return int(pipe.read() or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
