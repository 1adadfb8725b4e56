"""Alibaba's openb logs of 2023: tasks that may share a device, on nodes of several kinds.

A task that asks for a part of a device gets all of it here: devices are not shared in time.
"""

from __future__ import annotations

from pathlib import Path

from foretrain.cluster.fleet import Fleet, Nodes
from foretrain.files.problems import Problems
from foretrain.files.traces.format import Format, read_text, rows
from foretrain.files.traces.record import LeftOut, Record, ended
from foretrain.files.traces.row import Row

NODE = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


def read_openb_nodes(path: Path) -> Fleet:
    """The nodes of the cluster that have devices.

    Nodes of one kind that differ are counted in those with the fewest devices.

    Raises:
        InputError: with every problem of the file and its line.
    """
    problems = Problems(str(path))
    layout = Format(says="nodes", columns=NODE, needs=NODE, record=_record)
    found: dict[tuple[str, int], int] = {}
    for row in rows(read_text(path), layout, problems):
        shape = (row.needed("model"), row.count("gpu"))
        found[shape] = found.get(shape, 0) + 1
    problems.check()
    kinds = {kind for kind, _ in found}
    alike = {
        kind: sum(count * each for (name, each), count in found.items() if name == kind)
        for kind in sorted(kinds)
    }
    per_node = {kind: min(each for name, each in found if name == kind) for kind in alike}
    return Fleet(
        nodes=tuple(
            Nodes(count=devices // per_node[kind], devices=per_node[kind], kind=kind)
            for kind, devices in alike.items()
        )
    )


def _record(row: Row) -> Record:
    if not row.count("num_gpu"):
        raise LeftOut("hold no device")
    if not (row.has("scheduled_time") and row.has("deletion_time")):
        raise LeftOut("have not run")
    begun, over = row.moment("scheduled_time"), row.moment("deletion_time")
    return Record(
        line=row.line,
        name=row.needed("name"),
        arrival=row.moment("creation_time"),
        ran=over - begun,
        devices=row.count("num_gpu"),
        end=ended("" if row.text("pod_phase") in {"Running", "Pending"} else row.text("pod_phase")),
        begun=begun,
        group=row.text("qos"),
        kinds=tuple(kind for kind in row.text("gpu_spec").split("|") if kind),
    )


OPENB = Format(
    says="tasks of Alibaba's GPU cluster of 2023 (openb)",
    columns=(
        "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
        "creation_time", "deletion_time", "scheduled_time",
    ),
    needs=("name", "num_gpu", "creation_time", "deletion_time", "scheduled_time"),
    record=_record,
)  # fmt: skip
