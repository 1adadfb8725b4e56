"""Run with the Python of an environment: everything that foretrain offers, found in its code.

    python -I -W error inside.py CHECKOUT

A command, an option, a policy, an example or a document without a run here is a failure too.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

ROWS = 4
"""Measured runs that are read: enough to fit to."""

FEWER = (("draw = 2000", "draw = 60"), ("seeds = 5", "seeds = 2"))
"""In copies of the examples that simulate: the same questions with fewer jobs."""

NEEDS = 'pip install "foretrain[torch]"'

RAN = """
[workload]
model = "gpt-3-1.3b"
global_batch = 64
sequence = 2048

[cluster]
name = "dgx-a100"
nodes = 1

[plan]
micro_batch = 1
"""
KNOWN = """
[ensemble]
name = "known"
data = "mine:pictures"
batch = 24
epochs = 2
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.1 }
cores = 1
sample = { prepare = "9 ms", size = "602 kB", count = 1000 }
alone = { time = "1 ms", cpu = "0.3 ms", memory = "40 MB" }

[[members]]
name = "net"
model = "mine:net"
grid.options.width = [8, 16]
"""
QUEUE = """
[fleet]
nodes = 4
devices = 8

[jobs]
draw = 20

[simulation]
policies = {policies}
loads = [0.6]
seeds = 1
"""


@dataclass(frozen=True)
class Ended:
    """What a command left.

    Attributes:
        code: its exit status.
        out: what it printed.
        err: what it printed besides.
    """

    code: int
    out: str
    err: str


def foretrain(*arguments: object) -> Ended:
    """A command line, in this process."""
    from foretrain.app.main import run

    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["foretrain", *map(str, arguments)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return Ended(code, out.getvalue(), err.getvalue())


def python(file: Path, *, cwd: Path) -> Ended:
    """A script, by this environment's Python in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", file], cwd=cwd, capture_output=True, text=True, check=False
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def commands() -> dict[str, Any]:
    """Every command by what is typed for it."""
    from typer.main import get_command

    from foretrain.app.main import app

    every, groups = {}, [("", get_command(app))]
    while groups:
        name, command = groups.pop()
        parts = getattr(command, "commands", {})
        groups += [(f"{name} {word}".strip(), each) for word, each in parts.items()]
        every |= {} if parts else {name: command}
    return every


def runs(checkout: Path, folder: Path) -> dict[str, list[list[object]]]:
    """What is typed behind each command; files that one writes serve those below it."""
    from foretrain.answers import ANSWERS
    from foretrain.jobs.policies.table import POLICIES

    ran, known, queue = (folder / f"{name}.toml" for name in ("ran", "known", "queue"))
    ran.write_text(RAN)
    known.write_text(KNOWN)
    queue.write_text(QUEUE.replace("{policies}", json.dumps([*POLICIES])))
    table, mine, page = folder / "llm_training.csv", folder / "mine.toml", folder / "page.html"
    rows = (checkout / "validation/tables/llm_training.csv").read_text().splitlines()
    few = [row for row in rows[1:] if row.startswith("mpt-000")][:ROWS]
    table.write_text("\n".join([rows[0], *few]))
    study = [ran, "--coefficients", mine]
    fitted = [table, "--kind", "llm_training", "--workers", 2, "--coefficients", mine]
    served, mine_too = checkout / "examples/parameter-servers.toml", ["--html", page]
    provisioned = checkout / "examples/machines-of-many-cores.toml"
    mine_too += ["--coefficients", mine]
    asked = ["--on", "1xdgx-h100", "--batch", 64, "--set", "plan.micro_batch=1"]
    words, pictures = [*asked, "--sequence", 2048], [*asked, "--image", 224]
    first, out = folder / "first.toml", folder / "exported"
    traced, both = checkout / "examples/loop", folder / "both.json"
    return {
        "doctor": [[], ["--json"]],
        "catalogue": [[], ["llama-3-8b"], ["dgx-h100", "--json"]],
        "schema": [[verb.name] for verb in ANSWERS],
        "calibrate": [
            [ran, "--step-time", "900 ms", "--output", mine, "--name", "mine"],
            ["llama-3-8b", *words, "--step-time", "1.6 s"],
            ["resnet-50", *pictures, "--step-time", "60 ms"],
            [*fitted, "--anyway", "--json"],
        ],
        "validate": [
            [table, "--html", page],
            [*fitted, "--json"],
        ],
        "estimate": [
            [*study, "--html", page],
            [ran, "--json"],
            ["llama-3-8b", *words, "--more"],
            ["resnet-50", *pictures],
        ],
        "init": [
            [first, "--model", "llama-3-8b", *words],
            [folder / "second.toml", "--model", "resnet-50", *pictures],
        ],
        "explain": [
            [*study, "--html", page, "--timeline", folder / "step.json", "--why-not", "tp8"],
            [ran, "--json"],
            ["llama-3-8b", *words, "--more"],
            ["resnet-50", *pictures],
        ],
        "compare": [
            [ran, first, "--coefficients", mine, "--html", page, "--more"],
            [ran, "tp8", "--json"],
            ["llama-3-8b", "qwen3-8b", *words],
            [traced / "one-core.toml", traced / "recorded/profile.json.gz", "--timeline", both],
            ["resnet-50", "resnet-18", *pictures],
        ],
        "export": [
            [*study, "--to", "megatron-lm", "--launcher", "slurm", "--name", "a", "--output", out],
            [ran, "--to", "megatron-lm", "--json"],
            ["llama-3-8b", *words, "--to", "megatron-lm", "--search", "--html", page, "--more"],
            ["resnet-50", *pictures, "--to", "deepspeed"],
        ],
        "import": [
            [checkout / "tests/launch/files/megatron-gpt3-175b.sh", "--on", "4xdgx-a100", "--json"],
            [
                checkout / "tests/launch/files/accelerate-fsdp.yaml",
                *("--trainer", "hf-trainer-5", "--set", "workload.model=llama-3-8b"),
                *("--on", "1xdgx-h100", "--output", folder / "imported.toml", "--html", page),
            ],
        ],
        "mcp": [[]],
        "search": [
            [*study, "--html", page, "--keep", 2, "--why-not", "tp8", "--robust", "--exhaustive"],
            [ran, "--json"],
            ["llama-3-8b", *words, "--more"],
            ["resnet-50", *pictures],
        ],
        "scale": [[served, "--json"], [served, *mine_too], [provisioned]],
        "simulate": [
            [queue, "--html", page, "--keep", folder / "kept", "--coefficients", mine],
            [queue, "--json", "--workers", 2, "--keep", folder / "kept", "--why", "job-10"],
        ],
        "ensemble estimate": [[known, "--html", page], [known, "--json"]],
        "ensemble run": [[known, "--html", page], [known, "--json"], [known, "--resume"]],
    }


def commands_work(checkout: Path, folder: Path) -> Iterator[str]:
    """Every command, its help, and each of its options in some run."""
    there, typed = commands(), runs(checkout, folder)
    for name in sorted(there.keys() - typed.keys()):
        yield f"{name}: no run of it stands in inside.py"
    for name, lines in typed.items():
        words = name.split()
        yield from fine(foretrain(*words, "--help"), f"{name} --help")
        options = {text for each in there[name].params for text in each.opts if text[:2] == "--"}
        for unused in sorted(options - {str(word) for line in lines for word in line} - {"--help"}):
            yield f"{name} {unused}: no run of it stands in inside.py"
        for line in lines:
            ended = foretrain(*words, *line)
            judge = JUDGES.get(name, fine)
            yield from judge(ended, f"{name} {' '.join(map(str, line))}")
            if ended.code == 0 and "--json" in line:
                json.loads(ended.out)


LOOP = "loop"
"""The example that trains with a trainer's packages, which tests run where they are."""


def examples_work(checkout: Path, folder: Path) -> Iterator[str]:
    """Every file of the examples: run, or read by one that is."""
    examples = checkout / "examples"
    files = [each for each in sorted(examples.rglob("*")) if each.is_file()]
    files = [each for each in files if "__pycache__" not in each.parts]
    texts = {file: file.read_text() for file in files if LOOP not in file.parts}
    for file, text in texts.items():
        name = file.relative_to(examples)
        held = tomllib.loads(text) if file.suffix == ".toml" else {}
        if file.suffix == ".py":
            yield from lacks(python(file, cwd=file.parent), str(name))
        elif "ensemble" in held:
            yield from lacks(foretrain("ensemble", "estimate", file), str(name))
        elif "jobs" in held:
            copy = folder / file.name
            copy.write_text(with_fewer(text))
            yield from fine(foretrain("simulate", copy), str(name))
        elif held.keys() & {"workload", "scale", "collective"}:
            for verb in verbs_of(held):
                yield from fine(foretrain(verb, file), f"{verb} {name}")
        elif not any(f'"{file.name}"' in other for other in texts.values()):
            yield f"{name}: nothing that is run reads it"


def verbs_of(held: Mapping[str, object]) -> tuple[str, ...]:
    """Commands that a study is for."""
    if "scale" in held:
        return ("scale",)
    if "collective" in held:
        return ("estimate",)
    return ("search",) if "search" in held else ("search", "estimate")


def with_fewer(text: str) -> str:
    """A study of a shared cluster with fewer jobs."""
    for many, few in FEWER:
        assert many in text, f"an example of a shared cluster does not say {many}"
        text = text.replace(many, few)
    return text


def fine(ended: Ended, what: str) -> Iterator[str]:
    """Whether a command did what it was asked."""
    if ended.code != 0 or not ended.out.strip():
        yield f"{what}: exit status {ended.code}\n{ended.err or ended.out}"


def ended_well(ended: Ended, what: str) -> Iterator[str]:
    """The same of one that writes a file, or answers nobody where nobody asks."""
    if ended.code != 0:
        yield f"{what}: exit status {ended.code}\n{ended.err or ended.out}"


def lacks(ended: Ended, what: str) -> Iterator[str]:
    """Whether a command said in one line what to install, as it has no PyTorch."""
    lines = ended.err.strip().splitlines()
    if ended.code != 1 or ended.out or len(lines) != 1 or NEEDS not in lines[0]:
        yield f"{what}: exit status {ended.code}, wanted one line with {NEEDS}\n{ended.err}"


JUDGES = {"ensemble run": lacks, "init": ended_well, "mcp": ended_well}
"""Who judges what a command left, where it is not `fine`."""


def streams_lack(_checkout: Path, _folder: Path) -> Iterator[str]:
    """Every public name loads, and those that need PyTorch say so."""
    import batchcast
    import foretrain as package

    for each in (package, batchcast):
        for name in each.__all__:
            getattr(each, name)
    for begin in (
        lambda: package.share([1.0], name="x"),
        lambda: package.attach("x", batch_size=1),
    ):
        try:
            begin()
        except batchcast.BatchcastError as error:
            yield from lacks(Ended(1, "", str(error)), "share and attach")
        else:
            yield "share and attach: nothing was said of PyTorch"


def starts(_checkout: Path, folder: Path) -> Iterator[str]:
    """The package is that of this environment, and its program starts."""
    import foretrain as package

    if not Path(str(package.__file__)).is_relative_to(sys.prefix):
        yield f"foretrain comes from {package.__file__}, not from {sys.prefix}"
    for line in (
        [Path(sys.executable).with_name("foretrain")],
        [sys.executable, "-m", "foretrain"],
    ):
        ended = subprocess.run(
            [*line, "--version"], cwd=folder, capture_output=True, text=True, check=False
        )
        yield from fine(Ended(ended.returncode, ended.stdout, ended.stderr), f"{line[-1]}")


CHECKS: dict[str, Callable[[Path, Path], Iterator[str]]] = {
    "starts": starts,
    "commands, options, policies, answers": commands_work,
    "examples": examples_work,
    "public names and streams": streams_lack,
}


def main() -> int:
    """Run every check; print what fails."""
    checkout = Path(sys.argv[1])
    needed = [line for line in requires("foretrain") or () if "extra" not in line]
    names = [re.split(r"[^\w-]", line)[0] for line in needed]
    print("with", ", ".join(f"{name} {version(name)}" for name in names))
    failed = 0
    with tempfile.TemporaryDirectory() as made:
        for name, check in CHECKS.items():
            try:
                wrong = list(check(checkout, Path(made)))
            except Exception:  # a failure of what is checked, told like the others
                wrong = [traceback.format_exc()]
            failed += len(wrong)
            print(f"{name}: {f'{len(wrong)} failed' if wrong else 'fine'}")
            print("".join(f"  FAILED {each}\n" for each in wrong), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
