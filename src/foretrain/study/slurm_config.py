"""What Slurm's commands print: its configuration as the keys of [site], tables and records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.study.traces.format import held_licenses
from foretrain.units import as_written

LINE: Final = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$")
COMMENT: Final = re.compile(r"^\s*#.*|\s#\s.*")
TIME: Final = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)")
DAYS: Final = re.compile(r"(?P<d>\d+)-(?P<h>\d+)(?::(?P<m>\d+))?")
"""A time with days, which may end in hours or minutes: 7-0, as slurm.conf may have it."""

UNLIMITED: Final = frozenset({"infinite", "unlimited", "none", "(null)", "n/a", ""})

MOST_NODES: Final = 200_000
"""Of a list of hosts. The largest machines have some ten thousand."""

LISTED: Final = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
"""A name in a list of hosts, or several in brackets."""

BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
Told = dict[str, Any]
"""Keys of [site], and of tables in it."""


Row = Mapping[str, str]
"""Cells of a line, or values of a record, by their names."""


def site_of_config(text: str) -> Told:
    """What a configuration says of a site, in the keys of [site].

    Args:
        text: what `scontrol show config` prints. Lines that no rule here needs are passed over.

    Raises:
        InputError: with every line whose value cannot be read, or where there is none to read.
    """
    found = (LINE.match(COMMENT.sub("", line)) for line in text.splitlines())
    said = {line[1]: line[2] for line in found if line}
    site: Told = {}
    wrong = []
    for key, value in said.items():
        if key not in KEYS:
            continue
        try:
            KEYS[key](site, value)
        except (ValueError, KeyError):
            wrong.append(f"{key} = {as_written(value)} cannot be read.")
    if wrong:
        raise InputError("\n".join(wrong))
    if said.get("PriorityType") == "priority/basic":
        site.pop("priority", None)  # its weights are kept and not used
    if not said.keys() & KEYS.keys():
        raise InputError(
            "holds none of the lines that `scontrol show config` prints, such as"
            " 'PriorityWeightAge = 1000'."
        )
    return site


def _table(site: Told, name: str) -> Told:
    table: Told = site.setdefault(name, {})
    return table


def _weight(key: str) -> Callable[[Told, str], None]:
    return lambda site, value: _table(site, "priority").update({key: float(value)})


def _time(table: str, key: str) -> Callable[[Told, str], None]:
    def put(site: Told, value: str) -> None:
        if value.lower() not in UNLIMITED:
            _table(site, table)[key] = f"{seconds(value)} s"

    return put


def seconds(value: str) -> int:
    """A time as Slurm prints it: 7-00:00:00, 00:05:00, 5 min, 30 sec or 30.

    Raises:
        ValueError: it is none.
        KeyError: its unit is none.
    """
    short = DAYS.fullmatch(value)
    if short:
        return 3600 * (24 * int(short["d"]) + int(short["h"])) + 60 * int(short["m"] or 0)
    parts = TIME.fullmatch(value)
    if parts:
        days, hours, minutes, rest = (int(parts[each] or 0) for each in "dhms")
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    number, _, unit = value.partition(" ")
    return int(number) * {"": 1, "sec": 1, "min": 60, "hours": 3600}[unit.strip()]


def lack(site: Told, rule: str) -> None:
    """Tell of a rule that is not kept, once."""
    rules: list[str] = site.setdefault("not_kept", [])
    if rule not in rules:
        rules.append(rule)


def _lacks(key: str, *, but: frozenset[str] = frozenset()) -> Callable[[Told, str], None]:
    """A line that is not kept, unless it says nothing."""

    def put(site: Told, value: str) -> None:
        if value.lower() not in UNLIMITED | NOTHING | but:
            lack(site, f"{key} = {value}")

    return put


def _tres(site: Told, value: str) -> None:
    for each in filter(None, value.lower().split(",")):
        name, _, weight = each.partition("=")
        if name == "gres/gpu":
            _table(site, "priority")["devices"] = float(weight)
        elif float(weight):
            lack(site, f"PriorityWeightTRES of {name}")


def _licenses(site: Told, value: str) -> None:
    if value.lower() not in UNLIMITED:
        found = held_licenses(value)
        if found is None:
            raise ValueError(value)
        _table(site, "licenses").update(found)


def _flags(site: Told, value: str) -> None:
    flags = set(value.upper().split(","))
    for each in sorted(flags & UNKEPT_FLAGS):
        lack(site, f"PriorityFlags {each}")
    if "NO_FAIR_TREE" in flags:
        _table(site, "priority")["fair_tree"] = False
    if flags & {"MAX_TRES", "MAX_TRES_GRES"}:
        rule = "max_tres_gres" if "MAX_TRES_GRES" in flags else "max_tres"
        _table(site, "priority")["billing"] = rule


def _scheduler(site: Told, value: str) -> None:
    if value == "sched/builtin":
        _table(site, "backfill")["on"] = False


PARAMETERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "bf_interval": ("backfill", "interval", " s"),
    "bf_window": ("backfill", "window", " min"),
    "bf_resolution": ("backfill", "resolution", " s"),
    "bf_max_job_test": ("backfill", "depth", ""),
    "bf_job_part_count_reserve": ("backfill", "reserves", ""),
    "bf_max_job_user": ("backfill", "per_user", ""),
}
"""Of SchedulerParameters: the table, key and unit of each."""


UNKEPT: Final = frozenset({
    "assoc_limit_stop", "bf_licenses", "bf_max_job_array_resv", "bf_max_job_assoc",
    "bf_max_job_part", "bf_max_job_start", "bf_max_job_user_part", "bf_min_age_reserve",
    "bf_min_prio_reserve", "bf_one_resv_per_job", "bf_running_job_reserve", "bf_window_linear",
    "defer", "partition_job_depth", "reduce_completing_frag",
})  # fmt: skip
"""Of SchedulerParameters: those that decide who starts when, and that nobody here knows."""

UNKEPT_FLAGS: Final = frozenset({
    "ACCRUE_ALWAYS", "DEPTH_OBLIVIOUS", "NO_NORMAL_ALL", "NO_NORMAL_ASSOC", "NO_NORMAL_PART",
    "NO_NORMAL_QOS", "NO_NORMAL_TRES", "SMALL_RELATIVE_TO_TIME",
})  # fmt: skip

NOTHING: Final = frozenset({"0", "no"})


def _parameters(site: Told, value: str) -> None:
    for each in value.split(","):
        name, _, said = each.strip().partition("=")
        if name == "default_queue_depth":
            site["depth"] = int(said)
        elif name in PARAMETERS:
            table, key, unit = PARAMETERS[name]
            _table(site, table)[key] = f"{int(said)}{unit}" if unit else int(said)
        elif name == "max_switch_wait":
            site["switch_wait"] = f"{int(said)} s"
        elif name in UNKEPT and said != "0":
            lack(site, f"SchedulerParameters {each.strip()}")


def _preempts(site: Told, value: str) -> None:
    kind = value.removeprefix("preempt/")
    _table(site, "preempt")["by"] = {"qos": "qos", "partition_prio": "partition_prio"}.get(
        kind, "none"
    )


PREEMPT_MODES: Final = frozenset({"off", "requeue", "cancel", "suspend"})


def _mode(site: Told, value: str) -> None:
    modes = [each.strip().lower() for each in value.split(",")]
    for each in modes:
        if each in PREEMPT_MODES:
            _table(site, "preempt")["mode"] = each
        if each == "suspend":
            lack(site, "that GPUs stay with a job that is suspended: here others may have them")


def _preempting(site: Told, value: str) -> None:
    for each in value.split(","):
        name, _, said = each.strip().partition("=")
        if name == "youngest_first":
            _table(site, "preempt")["youngest_first"] = True
        elif name == "reorder_count":
            _table(site, "preempt")["reorders"] = int(said)


def _over(site: Told, value: str) -> None:
    if value.lower() in UNLIMITED:
        site["kill"] = False
    else:
        minutes = value.partition(" ")[0]
        site["over_limit"] = f"{60 * int(minutes)} s"


def _small(site: Told, value: str) -> None:
    _table(site, "priority")["small_first"] = value.lower() in {"yes", "true", "1"}


TREES: Final = frozenset({"topology/tree", "topology/default", "topology/flat"})

KEYS: Final[Mapping[str, Callable[[Told, str], None]]] = {
    "Licenses": _licenses,
    "TopologyPlugin": _lacks(
        "TopologyPlugin", but=frozenset({"topology/tree", "topology/default"})
    ),
    "PriorityUsageResetPeriod": _lacks("PriorityUsageResetPeriod"),
    "PriorityWeightAge": _weight("age"),
    "PriorityWeightAssoc": _lacks("PriorityWeightAssoc"),
    "PriorityWeightFairShare": _weight("fairshare"),
    "PriorityWeightJobSize": _weight("size"),
    "PriorityWeightPartition": _weight("partition"),
    "PriorityWeightQOS": _weight("qos"),
    "PriorityWeightTRES": lambda site, value: (
        None if value.lower() in UNLIMITED else _tres(site, value)
    ),
    "PriorityMaxAge": _time("priority", "longest_age"),
    "PriorityCalcPeriod": _time("priority", "period"),
    "PriorityDecayHalfLife": _time("priority", "half_life"),
    "PriorityFavorSmall": _small,
    "PriorityFlags": _flags,
    "SchedulerType": _scheduler,
    "SchedulerParameters": _parameters,
    "PreemptType": _preempts,
    "PreemptMode": _mode,
    "PreemptParameters": _preempting,
    "PreemptExemptTime": _time("preempt", "exempt"),
    "OverTimeLimit": _over,
}
"""Lines that are read, and what each tells."""


def table_rows(text: str) -> Iterator[tuple[int, Row]]:
    """Rows of cells between `|`, with their lines.

    Args:
        text: what `--parsable2` prints.

    Raises:
        InputError: a row has too few or too many cells.
    """
    lines = text.splitlines()
    top = next(place for place, line in enumerate(lines) if line.strip())
    header = [each.strip() for each in lines[top].split("|")]
    for number, line in enumerate(lines[top + 1 :], start=top + 2):
        cells = line.split("|")
        if line.strip() and len(cells) != len(header):
            told = f"line {number} has {len(cells)} cells, but there are {len(header)} columns."
            raise InputError(told)
        if line.strip():
            yield number, dict(zip(header, cells, strict=True))


RECORDS: Final = {
    each: re.compile(rf"^\s*{each}=", re.M)
    for each in (
        "PartitionName",
        "NodeName",
        "ReservationName",
        "LicenseName",
        "SwitchName",
        "BlockName",
    )
}
"""How records begin, by the key that they have first."""


def records(text: str) -> Iterator[tuple[int, Row]]:
    """Records of `Key=value`, each on a line or on several, with the line on which it begins.

    Args:
        text: what `scontrol show` prints.
    """
    found: dict[str, str] = {}
    begun = 1
    for number, line in enumerate(text.splitlines(), start=1):
        cells = (each.partition("=") for each in COMMENT.sub("", line).split())
        pairs = {key: value for key, equals, value in cells if equals}
        if pairs.keys() & RECORDS.keys():
            if found.keys() & RECORDS.keys():
                yield begun, found
            found, begun = {}, number
        found |= pairs
    if found:
        yield begun, found


def hosts(text: str) -> list[str]:
    """The names in a list of hosts: n[01-03,7],login.

    Args:
        text: as Slurm prints it.

    Raises:
        InputError: it is no such list, or too long.
    """
    names: list[str] = []
    for told in LISTED.findall(text):
        # Names and the insides of brackets, in turn.
        parts = BRACKETS.split(told)
        some = [parts[0]]
        for inside, after in zip(parts[1::2], parts[2::2], strict=True):
            numbers = _numbered(inside, text)
            if len(some) * len(numbers) > MOST_NODES:
                raise InputError(f"{as_written(text)} names more than {MOST_NODES:,} hosts.")
            some = [f"{one}{number}{after}" for one in some for number in numbers]
        names += some
        if len(names) > MOST_NODES:
            raise InputError(f"{as_written(text)} names more than {MOST_NODES:,} hosts.")
    return names


def _numbered(inside: str, text: str) -> list[str]:
    """The numbers between brackets, with their zeros."""
    found: list[str] = []
    for part in inside.split(","):
        first, _, last = part.partition("-")
        if not last:
            found.append(part)
        elif first.isdecimal() and last.isdecimal() and int(last) - int(first) < MOST_NODES:
            numbers = range(int(first), int(last) + 1)
            found += [f"{each:0{len(first)}}" for each in numbers]
        else:
            raise InputError(f"{as_written(text)} is no list of hosts such as n[01-16],n20.")
    return found
