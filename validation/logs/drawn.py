"""Random logs: small, full of ties, with idle halves, and with what real logs have beside jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from validation.logs.by_hand import Task, fifo

DEVICES = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""That jobs ask for: divisors of the levels of LAS, so that everything happens at whole seconds."""

DAY = datetime(2026, 3, 1, tzinfo=UTC)
IDLE = 50_000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A job as a log tells of it.

    Attributes:
        name: numbers as clusters give them; a job that was requeued has that of an earlier one.
        task: what is simulated.
        begun: when it began, in seconds.
        state: how it ended.
    """

    name: int
    task: Task
    begun: int
    state: str


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A random log.

    Attributes:
        devices: of its cluster.
        form: the format that it is written in.
        text: of the file.
        tasks: its jobs in the order of submission.
        lines: where each of them stands in the text.
        counted: places of the jobs that had ended when it was written.
        odd: how many further entries it has that are no jobs.
    """

    devices: int
    form: str
    text: str
    tasks: tuple[Task, ...]
    lines: tuple[int, ...]
    counted: tuple[int, ...]
    odd: int


def drawn(random: Random) -> Drawn:
    """A log, whose jobs began as first come first served would have them."""
    form = random.choice(sorted(FORMS))
    devices = random.choice((1, 2, 4, 8, 12))
    tasks = sorted(_tasks(random, devices), key=lambda task: task.arrival)
    begun, _ = fifo(tasks, devices)
    names = _names(random, tasks)
    states = ["RUNNING" if random.random() < 0.1 else "COMPLETED" for _ in tasks[1:]]
    entries = [
        Entry(name=name, task=task, begun=at, state=state)
        for name, task, at, state in zip(names, tasks, begun, ["COMPLETED", *states], strict=True)
    ]
    head, write, odd = FORMS[form]
    rows: list[tuple[int | None, str]] = [
        (place, write(entry)) for place, entry in enumerate(entries)
    ]
    for text in odd(devices):
        for _ in range(random.choice((0, 0, 1, 2))):
            rows.insert(random.randrange(len(rows)), (None, text))
    if random.random() < 0.3:
        rows = _moved(random, rows, tasks)
    lines = {place: 1 + len(head) + at for at, (place, _) in enumerate(rows)}
    return Drawn(
        devices=devices,
        form=form,
        text="\n".join([*head, *(text for _, text in rows)]) + "\n",
        tasks=tuple(tasks),
        lines=tuple(lines[place] for place in range(len(tasks))),
        counted=tuple(
            place for place, entry in enumerate(entries)
            if form not in WITH_STATES or entry.state == "COMPLETED"
        ),
        odd=sum(place is None for place, _ in rows),
    )  # fmt: skip


def _tasks(random: Random, devices: int) -> Iterator[Task]:
    """Jobs that come in bursts, many in one second; often nobody waits in one half of the time."""
    count, span = random.randint(2, 40), random.choice((0, 5, 60, 4_000))
    longest = random.choice((5, 300, 9_000))
    small = [each for each in DEVICES if each <= devices]
    idle = random.choice((None, "first", "second"))
    for place in range(count):
        task = Task(random.randint(0, span), random.choice(small), random.randint(1, longest))
        quiet = 2 * place < count
        if idle == "first":
            yield task._replace(arrival=place * IDLE if quiet else count * IDLE + task.arrival)
        elif idle == "second" and quiet:
            yield task._replace(arrival=span + count * IDLE + place * IDLE)
        else:
            yield task


def _names(random: Random, tasks: list[Task]) -> list[int]:
    """Numbers in the order of submission from 8 on; some are those of an earlier job, requeued."""
    names = list(range(8, 8 + len(tasks)))
    for place in range(1, len(tasks)):
        before = random.randrange(place)
        if random.random() < 0.1 and tasks[before].arrival < tasks[place].arrival:
            names[place] = names[before]
    return names


def _moved(
    random: Random, rows: list[tuple[int | None, str]], tasks: list[Task]
) -> list[tuple[int | None, str]]:
    """The lines in another order, but those of one second: there the order of lines is theirs."""
    keys = {task.arrival: random.random() for task in tasks}
    return sorted(rows, key=lambda row: -1.0 if row[0] is None else keys[tasks[row[0]].arrival])


def _date(seconds: int) -> str:
    return (DAY + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def _sacct(entry: Entry) -> str:
    task = entry.task
    return (
        f"{entry.name}|ann|{_date(task.arrival)}|{_date(entry.begun)}|{task.seconds}"
        f"|{entry.state}|cpu=8,gres/gpu={task.devices}"
    )


def _swf(entry: Entry) -> str:
    task = entry.task
    waited = entry.begun - task.arrival
    return (
        f"{entry.name} {task.arrival} {waited} {task.seconds} {task.devices} -1 -1 {task.devices}"
        f" {task.seconds} -1 1 7 1 -1 1 -1 -1 -1"
    )


def _table(entry: Entry) -> str:
    task, state = entry.task, entry.state.lower()
    return f"{entry.name},{task.arrival},{entry.begun},{task.seconds},{task.devices},{state}"


def _tiresias(entry: Entry) -> str:
    task = entry.task
    return f"{entry.name},{task.devices},{task.arrival},100,vgg16,{task.seconds},30"


COLUMNS = {
    "name": "id", "arrival": "came", "begun": "started", "duration": "ran", "devices": "gpus",
    "end": "state",
}  # fmt: skip
"""Of the table that names its columns as it likes."""

WITH_STATES = frozenset({"sacct", "csv"})
"""Formats that tell of jobs which still run."""

Form = tuple[list[str], Callable[[Entry], str], Callable[[int], list[str]]]
"""First lines, how a job is written, and what else stands there on a cluster of some devices."""

FORMS: Mapping[str, Form] = {
    "sacct": (
        ["JobID|User|Submit|Start|ElapsedRaw|State|AllocTRES"],
        _sacct,
        lambda devices: [
            f"7|bob|{_date(3)}|{_date(4)}|50|COMPLETED|gres/gpu={devices + 1}",
            f"9.batch||{_date(3)}|{_date(4)}|50|COMPLETED|gres/gpu=1",
            f"5|bob|{_date(3)}|Unknown|0|CANCELLED by 7|",
            f"4|bob|{_date(3)}|{_date(4)}|soon|COMPLETED|gres/gpu=1",
            f"3|bob|{_date(3)}|{_date(4)}|0|FAILED|gres/gpu=1",
            f"2|bob|{_date(3)}|{_date(4)}|50|VANISHED|gres/gpu=1",
        ],
    ),
    "swf": (
        ["; Version: 2.2", "; MaxProcs: 12"],
        _swf,
        lambda devices: [
            f"7 3 1 50 {devices + 1} -1 -1 1 50 -1 1 7 1 -1 1 -1 -1 -1",
            "6 3 -1 -1 -1 -1 -1 1 50 -1 5 7 1 -1 1 -1 -1 -1",
            "5 3 0 50 1 -1 -1 1 50 -1 2 7 1 -1 1 -1 -1 -1",
            "4 3 0 50 1",
        ],
    ),
    "csv": (
        ["id,came,started,ran,gpus,state"],
        _table,
        lambda devices: [
            f"7,3,4,50,{devices + 1},completed",
            "6,3,1,50,1,completed",
            "5,3,,,1,running",
            "4,,4,50,1,completed",
            "",
        ],
    ),
    "tiresias": (
        ["job_id,num_gpu,submit_time,iterations,model_name,duration,interval"],
        _tiresias,
        lambda devices: [f"7,{devices + 1},3,100,vgg16,50,30", "6,1,-,100,vgg16,50,30"],
    ),
}  # fmt: skip
