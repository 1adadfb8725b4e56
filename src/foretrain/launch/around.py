"""Around a trainer: what starts it on nodes. A script, a batch job, a TrainJob, a task of SkyPilot.

Sources: pytorch/pytorch, torch/distributed/run.py; man sbatch; kubeflow/trainer, api
trainer.kubeflow.org/v1alpha1; skypilot-org/skypilot, the YAML of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from foretrain.launch.forms import yaml_lines

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
