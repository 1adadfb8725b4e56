"""Slurm's configuration, as `scontrol show config` prints it, as the keys of [site]."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.units import as_written

LINE: Final = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$")
TIME: Final = re.compile(r"(?:(?P<d>\d+)-)?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d+)")
UNLIMITED: Final = frozenset({"infinite", "unlimited", "none", "(null)", "n/a", ""})

Told = dict[str, Any]
"""Keys of [site], and of tables in it."""


def site_of_config(text: str) -> Told:
    """What a configuration says of a site, in the keys of [site].

    Args:
        text: what `scontrol show config` prints. Lines that no rule here needs are passed over.

    Raises:
        InputError: with every line whose value cannot be read, or where there is none to read.
    """
    said = {}
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            said[found[1]] = found[2]
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
    parts = TIME.fullmatch(value)
    if parts:
        days, hours, minutes, rest = (int(parts[each] or 0) for each in "dhms")
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    number, _, unit = value.partition(" ")
    return int(number) * {"": 1, "sec": 1, "min": 60, "hours": 3600}[unit.strip()]


def _tres(site: Told, value: str) -> None:
    for each in filter(None, value.lower().split(",")):
        name, _, weight = each.partition("=")
        if name == "gres/gpu":
            _table(site, "priority")["devices"] = float(weight)


def _flags(site: Told, value: str) -> None:
    flags = set(value.upper().split(","))
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


def _parameters(site: Told, value: str) -> None:
    for each in value.split(","):
        name, _, said = each.strip().partition("=")
        if name == "default_queue_depth":
            site["depth"] = int(said)
        elif name in PARAMETERS:
            table, key, unit = PARAMETERS[name]
            _table(site, table)[key] = f"{int(said)}{unit}" if unit else int(said)


def _preempts(site: Told, value: str) -> None:
    kind = value.removeprefix("preempt/")
    _table(site, "preempt")["by"] = {"qos": "qos", "partition_prio": "partition_prio"}.get(
        kind, "none"
    )


def _mode(site: Told, value: str) -> None:
    modes = [each.strip().lower() for each in value.split(",")]
    for each in modes:
        if each in {"off", "requeue", "cancel"}:
            _table(site, "preempt")["mode"] = each


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


KEYS: Final[Mapping[str, Callable[[Told, str], None]]] = {
    "PriorityWeightAge": _weight("age"),
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
