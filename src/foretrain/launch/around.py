"""Around a trainer: what starts it on nodes. A script, a batch job, a TrainJob, a task of SkyPilot.

Sources: pytorch/pytorch, torch/distributed/run.py; man sbatch; kubeflow/trainer, api
trainer.kubeflow.org/v1alpha1; skypilot-org/skypilot, the YAML of a task.

Forms: options as the text of a file, one function for each way in which files write them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from foretrain.launch.reading import shown
from foretrain.launch.writing import WrittenOption
from foretrain.trainers.flags import Fact, Form

SAFE: Final = re.compile(r"[\w@%+=:,./-]+")


def quoted(text: str) -> str:
    """A word as a shell takes it."""
    return text if SAFE.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def arguments(options: Iterable[WrittenOption]) -> Iterator[str]:
    """--name value, a line each."""
    for each in options:
        if each.value is True:
            yield f"--{each.name}"
        elif each.value is not False:
            yield f"--{each.name} {_words(each.value)}"


def overrides(options: Iterable[WrittenOption]) -> Iterator[str]:
    """name=value, a line each."""
    for each in options:
        yield quoted(f"{each.name}={shown(each.value)}")


def _words(value: Fact) -> str:
    return " ".join(quoted(each) for each in shown(value).split(" "))


def json_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """JSON, which has no comments: they stand under a key that no trainer reads."""
    return json.dumps({"_comment": list(comments), **_tree(options)}, indent=2) + "\n"


def yaml_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """YAML of plain values."""
    head = [f"# {each}".rstrip() for each in comments]
    return "\n".join([*head, *yaml_lines(_tree(options))]) + "\n"


def toml_file(options: Sequence[WrittenOption], comments: Sequence[str]) -> str:
    """TOML, a section for each first part of a name."""
    lines = [f"# {each}".rstrip() for each in comments]
    tables: dict[str, list[str]] = {}
    for each in options:
        section, _, name = each.name.rpartition(".")
        tables.setdefault(section, []).append(f"{name} = {_toml(_item(each))}")
    for section in sorted(tables):
        lines += [*([f"\n[{section}]"] if section else []), *tables[section]]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    return json.dumps(value)


def _item(option: WrittenOption) -> Any:  # noqa: ANN401 - of any kind
    return str(option.value).split() if option.listed else option.value


def _tree(options: Iterable[WrittenOption]) -> dict[str, Any]:
    """Names with dots as tables in tables."""
    found: dict[str, Any] = {}
    for each in options:
        at = found
        *path, name = each.name.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[name] = _item(each)
    return found


PLAIN: Final = re.compile(r"[A-Za-z_/][\w ./@+-]*")
RESERVED: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_lines(tree: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The lines of a table of tables, lists and plain values."""
    pad = "  " * depth
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield f"{pad}{_scalar(key)}:" if value else f"{pad}{_scalar(key)}: {{}}"
            yield from yaml_lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{pad}{_scalar(key)}:"
            for each in value:
                yield from _text(f"{pad}  -", str(each), f"{pad}    ")
        elif isinstance(value, str):
            yield from _text(f"{pad}{_scalar(key)}:", value, f"{pad}  ")
        else:
            yield f"{pad}{_scalar(key)}: {_scalar(value)}"


def _text(head: str, value: str, pad: str) -> Iterator[str]:
    """A text of one line, or of several, which stand below."""
    if "\n" not in value:
        yield f"{head} {_scalar(value)}"
        return
    yield f"{head} |"
    yield from (f"{pad}{line}".rstrip() for line in value.rstrip("\n").split("\n"))


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if not isinstance(value, str):
        return shown(value) if isinstance(value, bool | int | float) else str(value)
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED and not value.endswith(" "):
        return value
    return json.dumps(value)


FILES: Final[Mapping[Form, Callable[[Sequence[WrittenOption], Sequence[str]], str]]] = {
    Form.JSON: json_file,
    Form.TOML: toml_file,
    Form.YAML: yaml_file,
}
"""Forms of files of their own."""

LINES: Final[Mapping[Form, Callable[[Iterable[WrittenOption]], Iterator[str]]]] = {
    Form.ARGUMENTS: arguments,
    Form.OVERRIDES: overrides,
}
"""Forms of command lines."""


PORT: Final = 29500
"""torchrun's own (source: pytorch/pytorch, torch/distributed/run.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStart:
    """What is started.

    Attributes:
        name: of the job.
        comments: lines above it.
        command: the line of the trainer, with {nodes}, {node_devices}, {devices}, {rank},
            {address} and {port} left open.
        arguments: of the trainer, a line each.
        nodes: that take part.
        node_devices: of each.
        device: name of the device, as the catalogue has it.
        files: texts that stand beside it, by name.
    """

    name: str
    comments: tuple[str, ...]
    command: str
    arguments: tuple[str, ...]
    nodes: int
    node_devices: int
    device: str
    files: Mapping[str, str] = field(default_factory=dict)

    def line(self, *, nodes: str = "", node_devices: str = "", rank: str, address: str) -> str:
        """The command for one way to know nodes, and its arguments."""
        return self.command.format(
            nodes=nodes or self.nodes,
            node_devices=node_devices or self.node_devices,
            devices=self.nodes * self.node_devices,
            rank=rank,
            address=address,
            port=PORT,
        )


def torchrun(start: JobStart) -> dict[str, str]:
    """A script that is started on every node, with NODE_RANK and MASTER_ADDR set."""
    line = start.line(rank='"${NODE_RANK:-0}"', address='"${MASTER_ADDR:-localhost}"')
    return {f"{start.name}.sh": _script(start, ["set -euo pipefail"], line)}


def slurm(start: JobStart) -> dict[str, str]:
    """A batch job: one task on each node, which starts a process for each device."""
    headers = [
        f"#SBATCH --job-name={start.name}",
        f"#SBATCH --nodes={start.nodes}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --gpus-per-node={start.node_devices}",
        "#SBATCH --exclusive",
    ]
    before = [
        "set -euo pipefail",
        'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    ]
    line = start.line(rank='"$SLURM_NODEID"', address='"$MASTER_ADDR"')
    # Only a task knows its number: the line is handed to a shell on each node.
    inner = f'{line} "$@"'
    whole = f"srun bash -c {_single(inner)} train"
    return {f"{start.name}.sbatch": _script(start, before, whole, headers=headers)}


def kubernetes(start: JobStart) -> dict[str, str]:
    """A TrainJob of Kubeflow's trainer, whose runtime sets PET_NODE_RANK and its kind."""
    line = start.line(rank='"$PET_NODE_RANK"', address='"$PET_MASTER_ADDR"')
    script = _script(start, ["set -euo pipefail", *_laid(start)], line, bare=True)
    job: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": start.name},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "numNodes": start.nodes,
                "numProcPerNode": start.node_devices,
                "resourcesPerNode": {"limits": {"nvidia.com/gpu": start.node_devices}},
                "command": ["bash", "-c"],
                "args": [script],
            },
        },
    }
    return {f"{start.name}.yaml": "\n".join([*_commented(start), *yaml_lines(job)]) + "\n"}


def skypilot(start: JobStart) -> dict[str, str]:
    """A task of SkyPilot."""
    line = start.line(
        rank='"$SKYPILOT_NODE_RANK"', address='"$(echo "$SKYPILOT_NODE_IPS" | head -n 1)"'
    )
    task: dict[str, Any] = {
        "name": start.name,
        "num_nodes": start.nodes,
        "resources": {"accelerators": f"{start.device}:{start.node_devices}"},
        "workdir": ".",
        "run": _script(start, ["set -euo pipefail"], line, bare=True),
    }
    return {f"{start.name}.yaml": "\n".join([*_commented(start), *yaml_lines(task)]) + "\n"}


LAUNCHERS: Final[Mapping[str, Callable[[JobStart], dict[str, str]]]] = {
    "torchrun": torchrun,
    "slurm": slurm,
    "kubernetes": kubernetes,
    "skypilot": skypilot,
}
"""What a trainer may be started by; `torchrun` stands for a script on every node."""


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _commented(start: JobStart) -> list[str]:
    return [f"# {each}".rstrip() for each in start.comments]


def _laid(start: JobStart) -> list[str]:
    """Lines that write the trainer's files where a job has nothing else."""
    return [
        line
        for name, text in start.files.items()
        for line in (f"cat > {name} <<'END'", *text.splitlines(), "END")
    ]


def _script(
    start: JobStart,
    before: Sequence[str],
    line: str,
    *,
    headers: Sequence[str] = (),
    bare: bool = False,
) -> str:
    """A script: headers, comments, the trainer's arguments as a list, and the line."""
    head = [] if bare else ["#!/bin/bash", *headers, *_commented(start)]
    listed = ["", "ARGS=(", *(f"    {each}" for each in start.arguments), ")"]
    arguments = listed if start.arguments else []
    last = f'{line} "${{ARGS[@]}}"' if start.arguments else line
    return "\n".join([*head, *before, *arguments, "", f'{last} "$@"' if not bare else last]) + "\n"
