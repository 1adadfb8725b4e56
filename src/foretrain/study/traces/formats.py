"""Logs, format by format.

Any CSV: the user says which column holds what.

Alibaba's openb logs of 2023: tasks that may share a device, on nodes of several kinds.

A task that asks for a part of a device gets all of it here: devices are not shared in time.

Logs that somebody published as tables: Philly, Tiresias, Helios and Acme, PAI.

Philly: one line per job of a cluster of Microsoft's, without states, users or waiting times.
Tiresias: the job lists of its simulator; durations are those on the devices asked for.
Helios and Acme: Slurm logs of SenseTime's clusters and of Shanghai AI Laboratory.
PAI: Alibaba's task table of 2020, whose file does not name its columns.

Sources: jeon2019 and its log, as AdaptDL's authors reduced it to a table; gu2019, its published
simulator; hu2021 and hu2024, columns as their README files list them.

SWF: the Standard Workload Format of the Parallel Workloads Archive; -1 is not known.

A job that was swapped out has a line for all of it and further ones for its parts.

Source: chapin1999, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from pathlib import Path

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError, nearest
from foretrain.measured.job import OPEN_ENDS, DependsOn, End, Remainder
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.traces.format import MOST_BYTES, Format, Row, rows
from foretrain.study.traces.record import BEFORE, NEVER_RAN, NO_DEVICE, NotAJob, Record, ended
from foretrain.units import as_written

NEEDED = ("arrival", "duration", "devices")
OPTIONAL = ("name", "begun", "end", "estimate", "user", "account", "qos", "group", "kind",
            "after", "array", "label", "licenses")  # fmt: skip
FIELDS = (*NEEDED, *OPTIONAL)


def mapped(columns: Mapping[str, str]) -> Format:
    """The format of a CSV whose columns have names of their own.

    Args:
        columns: names of columns, by what they hold: `FIELDS`.

    Raises:
        InputError: where a field is not known, or one that is needed is missing.
    """
    known = ", ".join(FIELDS)
    wrong = [
        f"unknown field {as_written(field)}.{nearest(field, FIELDS)} Known: {known}."
        for field in columns
        if field not in FIELDS
    ]
    wrong += [f"no column is given for {field}." for field in NEEDED if field not in columns]
    if wrong:
        raise InputError("\n".join(f"columns: {each}" for each in wrong))
    return Format(
        says="a CSV of your own",
        columns=tuple(columns.values()),
        needs=tuple(columns.values()),
        record=lambda row: mapped_job(row, columns),
        open=True,
    )


def mapped_job(row: Row, columns: Mapping[str, str]) -> Record:
    """A job of a row, whose columns are named by what they hold."""

    def text(field: str) -> str:
        return row.text(columns[field]) if field in columns else ""

    if not row.count(columns["devices"]):
        raise NotAJob(NO_DEVICE)
    end = ended(row.needed(columns["end"]) if "end" in columns else "")
    waits = end is End.PENDING
    begun = row.moment(columns["begun"]) if text("begun") and not waits else None
    told = end not in OPEN_ENDS or (row.has(columns["duration"]) and not waits)
    after = row.dependencies(columns["after"]) if text("after") else ()
    if "label" not in columns and any(each.what is DependsOn.SINGLETON for each in after):
        row.wrong("a singleton is alone among jobs of its label. Map the column label.")
    if not told and begun is None and not waits:
        raise NotAJob("still ran when the log was written, which does not tell since when")
    return Record(
        line=row.line,
        name=text("name") or f"line-{row.line:06}",
        arrival=row.moment(columns["arrival"]),
        ran=row.duration(columns["duration"]) if told else None,
        devices=row.count(columns["devices"]),
        end=end,
        begun=begun,
        estimate=row.duration(columns["estimate"]) if text("estimate") else None,
        user=text("user"),
        account=text("account"),
        qos=text("qos"),
        group=text("group"),
        kinds=(text("kind"),) if text("kind") else (),
        after=after,
        array=text("array"),
        label=text("label"),
        licenses=row.licenses(columns["licenses"]) if text("licenses") else (),
    )


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
        raise NotAJob(NO_DEVICE)
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


PHILLY = Format(
    says="jobs of Philly as a table: timestamp, duration, num_gpus",
    columns=("timestamp", "duration", "num_gpus", "gpu_time", "cluster"),
    needs=("timestamp", "duration", "num_gpus"),
    record=lambda row: Record(
        line=row.line,
        name=f"line-{row.line:06}",
        arrival=row.moment("timestamp"),
        ran=row.duration("duration"),
        devices=row.count("num_gpus"),
        group=row.text("cluster"),
    ),
)

TIRESIAS = Format(
    says="job lists of Tiresias' simulator: job_id, num_gpu, submit_time, duration",
    columns=(
        "job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval",
    ),
    needs=("job_id", "num_gpu", "submit_time", "duration"),
    record=lambda row: Record(
        line=row.line,
        name=f"job-{row.count('job_id'):06}",
        arrival=row.moment("submit_time"),
        ran=row.duration("duration"),
        devices=row.count("num_gpu"),
        group=row.text("model_name"),
    )
)  # fmt: skip


def helios_job(row: Row) -> Record:
    """A job of Helios or Acme."""
    if not row.count("gpu_num"):
        raise NotAJob(NO_DEVICE)
    end = ended(row.needed("state"))
    waits = end is End.PENDING
    if not (row.has("start_time") or waits):
        raise NotAJob(NEVER_RAN)
    begun = None if waits else row.moment("start_time")
    told = end not in OPEN_ENDS or (row.has("duration") and not waits)
    return Record(
        line=row.line,
        name=row.needed("job_id"),
        arrival=row.moment("submit_time"),
        ran=row.duration("duration") if told else None,
        devices=row.count("gpu_num"),
        end=end,
        begun=begun,
        user=row.text("user"),
        group=row.text("vc") or row.text("type"),
    )


HELIOS = Format(
    says="jobs of Helios' clusters, or of Seren and Kalos",
    columns=(
        "job_id", "user", "vc", "type", "gpu_num", "cpu_num", "node_num", "mem_per_pod_GB",
        "shared_mem_per_pod", "state", "submit_time", "start_time", "end_time", "fail_time",
        "stop_time", "duration", "queue", "gpu_time",
    ),
    needs=("job_id", "gpu_num", "state", "submit_time", "start_time", "duration"),
    record=helios_job,
)  # fmt: skip


def pai_job(row: Row) -> Record:
    """A task, whose instances each ask for hundredths of a device; devices are rounded up.

    The table does not tell when a task was submitted: it arrives when it began, so it says nothing
    of waiting.
    """
    if not row.has("plan_gpu") or not row.number("plan_gpu"):
        raise NotAJob(NO_DEVICE)
    if not row.has("start_time"):
        raise NotAJob(NEVER_RAN)
    begun, end = row.moment("start_time"), ended(row.needed("status"))
    if end is End.PENDING:
        raise NotAJob(BEFORE)
    told = end is not End.RUNNING or row.has("end_time")
    return Record(
        line=row.line,
        name=f"{row.needed('job_name')}/{row.needed('task_name')}",
        arrival=begun,
        ran=row.moment("end_time") - begun if told else None,
        devices=ceil(row.count("inst_num") * row.number("plan_gpu") / 100.0),
        end=end,
        kinds=(row.text("gpu_type"),) if row.has("gpu_type") else (),
    )


PAI = Format(
    says="tasks of Alibaba's PAI cluster of 2020 (pai_task_table)",
    columns=(
        "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu",
        "plan_mem", "plan_gpu", "gpu_type",
    ),
    needs=(),
    record=pai_job,
    named=False,
)  # fmt: skip


NOT_KNOWN = -1.0

BURSTS = frozenset({2.0, 3.0, 4.0})
"""Codes of lines that tell of a part of a job's time, between being swapped out."""

STATUS = {0.0: End.FAILED, 1.0: End.FINISHED, 5.0: End.KILLED, NOT_KNOWN: End.FINISHED}


def swf_job(row: Row) -> Record:
    """A job of a line of the archive."""
    status = row.number("status")
    if status in BURSTS:
        raise NotAJob("tell of parts of a job, which has a line of its own")
    if status not in STATUS:
        row.wrong(f"status is {status:g}. Known: -1, 0, 1, 5, and 2 to 4 for parts of a job.")
    ran, devices = row.number("run time"), -1
    # Processors that a job held, or else asked for.
    for column in ("allocated processors", "requested processors"):
        if row.number(column) not in {NOT_KNOWN, 0.0}:
            devices = row.count(column)
            break
    if NOT_KNOWN in (ran, devices):
        raise NotAJob(NEVER_RAN)
    arrival, waited = row.number("submit time"), row.number("wait time")
    if arrival == NOT_KNOWN:
        raise NotAJob("do not tell when they were submitted")
    limit = row.number("requested time")
    return Record(
        line=row.line,
        name=f"job-{row.count('job number'):07}",
        arrival=arrival,
        ran=ran,
        devices=devices,
        end=STATUS.get(status, End.FINISHED),
        begun=arrival + waited if waited != NOT_KNOWN else None,
        estimate=limit if limit > 0 else None,
        user=row.text("user"),
        group=row.text("queue"),
    )


SWF = Format(
    says="the Standard Workload Format, .swf",
    columns=(
        "job number", "submit time", "wait time", "run time", "allocated processors", "CPU time",
        "memory", "requested processors", "requested time", "requested memory", "status", "user",
        "group", "executable", "queue", "partition", "preceding job", "think time",
    ),
    needs=(),
    record=swf_job,
    named=False,
    delimiter="",
    comment=";",
)  # fmt: skip
