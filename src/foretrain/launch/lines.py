"""Launch lines: from a script to the options of a training and of what starts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from foretrain.errors import InputError
from foretrain.launch.option import FilePlace, Launched, Option
from foretrain.launch.shell import Command, Word, commands
from foretrain.trainers.flags import Fact, fact

NODES, NODE_DEVICES, DEVICES = "cluster.nodes", "cluster.node_devices", "cluster.devices"

LAUNCHERS: Final[Mapping[str, Mapping[str, str]]] = {
    # PyTorch's, by torchrun, python -m torch.distributed.run or .launch.
    "torchrun": {"nnodes": NODES, "nproc-per-node": NODE_DEVICES},
    "torch.distributed.run": {"nnodes": NODES, "nproc-per-node": NODE_DEVICES},
    "torch.distributed.launch": {"nnodes": NODES, "nproc-per-node": NODE_DEVICES},
    "deepspeed": {"num-nodes": NODES, "num-gpus": NODE_DEVICES},
    "accelerate": {"num-machines": NODES, "num-processes": DEVICES},
    "composer": {"nproc": NODE_DEVICES, "n": NODE_DEVICES, "world-size": DEVICES},
    "srun": {
        "nodes": NODES, "N": NODES, "ntasks-per-node": NODE_DEVICES, "ntasks": DEVICES,
        "n": DEVICES, "gpus-per-node": NODE_DEVICES, "gres": NODE_DEVICES,
    },
    "mpirun": {"np": DEVICES, "n": DEVICES, "npernode": NODE_DEVICES},
    "sky": {},
}  # fmt: skip
"""What starts a training, and which of its options say how many devices take part.

Sources: pytorch/pytorch, torch/distributed/run.py; deepspeedai/DeepSpeed, launcher/runner.py;
huggingface/accelerate, commands/launch.py; mosaicml/composer, cli/launcher.py; man srun, mpirun.
"""

BATCH: Final[Mapping[str, str]] = {
    "nodes": NODES, "N": NODES, "ntasks-per-node": "tasks", "gpus-per-node": NODE_DEVICES,
    "gres": NODE_DEVICES,
}  # fmt: skip
"""Headers of a batch script (source: man sbatch)."""

PROGRAM: Final = re.compile(r"[\w./${}-]+\.py")
MODULE_FLAG: Final = "-m"
NAMED: Final = re.compile(r"--?([A-Za-z][\w.\-]*)(?:=(.*))?", re.DOTALL)
OVERRIDE: Final = re.compile(r"\+{0,2}([A-Za-z_][\w.\-]*)=(.*)", re.DOTALL)
TABLES: Final = (".json", ".yaml", ".yml", ".toml")
NUMBER: Final = re.compile(r"-?\d")
BATCH_LINE: Final = re.compile(r"#SBATCH\s+(.*)")
DEVICES_IN: Final = re.compile(r"(?:gpu:)?(?:[\w-]+:)?(\d+)$")
DEEPEST: Final = 3


def launched(
    text: str, file: str, *, preferred: str = "", values: Mapping[str, str] | None = None
) -> Launched:
    """What a launch script says.

    Args:
        text: of the script.
        file: its name.
        preferred: pattern of programs, of which one is taken before any other.
        values: of variables that are set before it starts.

    Raises:
        InputError: it cannot be read as a script.
    """
    headers = tuple(_headers(text, file))
    known = {**_slurm(headers), **(values or {})}
    try:
        found = commands(text, known)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    lines = [line for command in found for line in _lines(command, file, known, depth=0)]
    if not lines:
        return Launched(around=headers)
    lines.sort(
        key=lambda line: (bool(preferred and re.search(preferred, line.program)), len(line.options))
    )
    best = lines[-1]
    given = {each.name for each in best.around}
    around = (*best.around, *(each for each in headers if each.name not in given))
    return Launched(options=best.options, around=around, programs=(best.program,), asked=best.asked)


def written_in(text: str, file: str, values: Mapping[str, str] | None = None) -> dict[str, str]:
    """The files that a script writes by here-documents, by name."""
    known = {**_slurm(tuple(_headers(text, file))), **(values or {})}
    return {
        name: inner for command in commands(text, known) for name, inner in command.written.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A launch line.

    Attributes:
        program: what is run.
        options: of the program.
        around: of what starts it, by the keys that they set.
        asked: files of tables that it names.
    """

    program: str
    options: tuple[Option, ...]
    around: tuple[Option, ...]
    asked: tuple[str, ...]


def _headers(text: str, file: str) -> Iterator[Option]:
    """What a batch script says of nodes and devices before its first command."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = BATCH_LINE.match(line.strip())
        if match is None:
            continue
        words = [Word(text=each, line=number) for each in match[1].split("#")[0].split()]
        for option in _options(words, file):
            if option.name in BATCH:
                yield _counted(option, BATCH[option.name])


def _slurm(headers: Sequence[Option]) -> dict[str, str]:
    """Variables that Slurm sets, as far as headers say their values."""
    said = {each.name: each.value for each in headers}
    names = {
        NODES: ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
        NODE_DEVICES: ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"),
        "tasks": ("SLURM_NTASKS_PER_NODE",),
    }
    return {name: str(said[key]) for key, all_of in names.items() if key in said for name in all_of}


def _counted(option: Option, key: str) -> Option:
    """An option under the key that it sets; gpu:a100:8 and h100:8 are 8, 2:2 (a range) is 2."""
    value = option.value
    if isinstance(value, str) and (match := DEVICES_IN.search(value)):
        value = int(match[1])
    return replace(option, name=key, value=value)


def _lines(command: Command, file: str, known: Mapping[str, str], *, depth: int) -> Iterator[_Line]:
    """The launch lines in a command: itself, or what it hands to another shell."""
    words = command.words
    for place, word in enumerate(words):
        if (
            word.text == "-c"
            and place + 1 < len(words)
            and depth < DEEPEST
            and _shell_at(words, place)
        ):
            inner, rest = words[place + 1], words[place + 3 :]
            text = "\n" * (inner.line - 1) + inner.text
            for each in commands(text, known, rest=rest):
                for line in _lines(each, file, known, depth=depth + 1):
                    yield replace(line, around=(*_around(words[:place], file), *line.around))
            return
    at = _program_at(words)
    if at is None:
        return
    options = tuple(_options(words[at + 1 :], file))
    around = tuple(_around(words[:at], file))
    asked = tuple(part for it in words for part in it.text.split("=") if part.endswith(TABLES))
    yield _Line(program=words[at].text, options=options, around=around, asked=asked)


def _shell_at(words: Sequence[Word], place: int) -> bool:
    return any(
        each.text.rpartition("/")[2] in ("bash", "sh") for each in words[max(0, place - 2) : place]
    )


def _program_at(words: Sequence[Word]) -> int | None:
    """Where a command names what is trained with: a script, or a module of Python."""
    for place, word in enumerate(words):
        text = word.text
        if PROGRAM.fullmatch(text):
            return place
        is_module = place > 0 and words[place - 1].text == MODULE_FLAG
        if is_module and text not in LAUNCHERS:
            return place
    return None


def _around(words: Sequence[Word], file: str) -> Iterator[Option]:
    """The options of launchers that say how many devices take part."""
    tables = [LAUNCHERS[name] for name in map(_base, words) if name in LAUNCHERS]
    for option in _options(words, file):
        key = next(
            (table[name] for table in tables if (name := option.name.replace("_", "-")) in table),
            None,
        )
        if key is not None:
            yield _counted(option, key)


def _base(word: Word) -> str:
    return word.text.rpartition("/")[2]


def _options(words: Sequence[Word], file: str) -> Iterator[Option]:
    """Options: --name value, --name=value, -N 4, name=value; a value may be several words."""
    place = 0
    words = [each for each in words if each.text or not {*each.unset} & {"$@", "$*"}]
    while place < len(words):
        word = words[place]
        place += 1
        where = FilePlace(file=file, line=word.line)
        match = NAMED.fullmatch(word.text)
        if match is None or (word.text.startswith("-") and NUMBER.match(word.text)):
            override = OVERRIDE.fullmatch(word.text)
            if override:
                value = fact(override[2])
                yield Option(name=override[1], value=value, place=where, unset=word.unset)
            continue
        if match[2] is not None:
            yield Option(name=match[1], value=fact(match[2]), place=where, unset=word.unset)
            continue
        values = []
        while place < len(words) and _is_value(words[place]):
            values.append(words[place])
            place += 1
        unset = tuple(name for each in (word, *values) for name in each.unset)
        yield Option(name=match[1], value=_value(values), place=where, unset=unset)


def _is_value(word: Word) -> bool:
    text = word.text
    if OVERRIDE.fullmatch(text):
        return False
    return not text.startswith("-") or bool(NUMBER.match(text)) or " " in text


def _value(values: Sequence[Word]) -> Fact:
    return fact(" ".join(each.text for each in values)) if values else True
