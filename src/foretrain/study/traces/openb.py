"""Alibaba's openb logs of 2023: tasks that may share a device, on nodes of several kinds.

A task that asks for a part of a device gets all of it here: devices are not shared in time.
"""

from __future__ import annotations

from pathlib import Path

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.measured.job import Remainder
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.traces.format import MOST_BYTES, Format, Row, rows
from foretrain.study.traces.record import NEVER_RAN, NotAJob, Record, ended

UNFINISHED = frozenset({"Running", "Pending"})
"""Phases in which a task was last seen that was deleted later, or not before the log ends."""

NODE = ("sn", "cpu_milli", "memory_mib", "gpu", "model")


def read_openb_nodes(path: Path) -> Fleet:
    """The nodes of the cluster that have devices.

    Nodes of one kind that differ are counted in those with the fewest devices.

    Raises:
        InputError: with every problem of the file and its line.
    """
    problems, remainder = Problems(str(path)), Remainder()
    layout = Format(says="nodes", columns=NODE, needs=NODE, record=openb_job)
    found: dict[tuple[str, int], int] = {}
    for row in rows(
        read_text(path, most=MOST_BYTES), layout, problems=problems, remainder=remainder
    ):
        shape = (row.needed("model"), row.count("gpu"))
        if shape[1]:
            found[shape] = found.get(shape, 0) + 1
        problems.add_all(f"line {row.line}: {told}" for told in row.problems)
    problems.add_all(f"line {line}: {told}" for line, told in remainder.lines())
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


def openb_job(row: Row) -> Record:
    """A job of a task."""
    if not row.count("num_gpu"):
        raise NotAJob("hold no device")
    if not (row.has("scheduled_time") and row.has("deletion_time")):
        raise NotAJob(NEVER_RAN)
    begun, over = row.moment("scheduled_time"), row.moment("deletion_time")
    phase = row.needed("pod_phase")
    return Record(
        line=row.line,
        name=row.needed("name"),
        arrival=row.moment("creation_time"),
        ran=over - begun,
        devices=row.count("num_gpu"),
        end=ended("" if phase in UNFINISHED else phase),
        begun=begun,
        last_seen=phase in UNFINISHED,
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
    record=openb_job,
)  # fmt: skip
