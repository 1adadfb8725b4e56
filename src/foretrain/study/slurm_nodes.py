"""Nodes of a site: when they are kept free or out, and what connects them, as a study writes it.

Clocks: dates, as seconds since the first job.

Also as `scontrol show` prints it: nodes, partitions, reservations and switches.

Nodes are numbered as `scontrol show node` lists them, or else as partitions name them.

Source: slurm, scontrol(1), topology.conf(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import inf
from typing import Annotated, Any, Final

from foretrain.cluster.device import Switch
from foretrain.cluster.mixed import Outage
from foretrain.errors import InputError
from foretrain.measured.site import Closed, NodeRange, Partition, SiteRules
from foretrain.study.problems import Problems
from foretrain.study.quotas import told_by
from foretrain.study.slurm_config import UNLIMITED, Row, Told, hosts, lack, seconds
from foretrain.units import SECONDS, as_written

Seconds = Annotated[float, SECONDS]

RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


def node_ranges(text: str) -> tuple[NodeRange, ...]:
    """Nodes as they are written: "0-15, 20".

    Raises:
        InputError: something else is written.
    """
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        read = RANGE.fullmatch(part)
        if read is None:
            raise InputError(
                f"{as_written(part)} is no range of nodes. Write numbers from 0 on, such as"
                ' "0-15, 20".'
            )
        found.append((int(read[1]), int(read[2] or read[1])))
    return tuple(found)


def missing_nodes(
    outages: Sequence[Outage], site: SiteRules, problems: Problems, *, count: int
) -> None:
    """Note ranges that name nodes which are not there.

    Args:
        outages: when some are out.
        site: a site's rules.
        problems: where they are noted.
        count: nodes that there are.
    """
    of: dict[str, Sequence[Outage | Closed | Partition | Switch]] = {
        "simulation.outages": outages,
        "site.closed": site.closed,
        "site.partitions": site.partitions,
        "site.switches": site.switches,
    }
    for path, several in of.items():
        for place, each in enumerate(several):
            last = max((last for _, last in each.nodes), default=0)
            if last >= count:
                why = f"names node {last}; the last of the fleet's {count} is {count - 1}."
                problems.add(f"{path}[{place}].nodes", why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedSection:
    """Nodes that are kept free for a while, as they are written."""

    start: Seconds
    end: Seconds
    nodes: str = ""

    @property
    def noun(self) -> Closed:
        """What it means."""
        return Closed(**{**told_by(self), "nodes": node_ranges(self.nodes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageSection:
    """Nodes that are not there for a while, as they are written; `Outage` has the meanings."""

    nodes: str
    start: Seconds
    end: Seconds = inf
    notice: Seconds = 0.0
    lets_end: bool = False
    checkpoint: Seconds = inf

    @property
    def noun(self) -> Outage:
        """What it means."""
        return Outage(**{**told_by(self), "nodes": node_ranges(self.nodes)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSection:
    """A switch, as it is written."""

    name: str
    nodes: str = ""
    switches: tuple[str, ...] = ()

    @property
    def noun(self) -> Switch:
        """What it means."""
        return Switch(**{**told_by(self), "nodes": node_ranges(self.nodes)})


def on_clock(closed: Sequence[Any], origin: float | None, problems: Problems) -> Iterator[Any]:
    """Times at which nodes are closed, as seconds since the first job where they are dates.

    Args:
        closed: tables of [[site.closed]].
        origin: seconds since 1970 of the first job; None where jobs are drawn.
        problems: take dates where there is no clock.

    What is over by then is left out, and what has begun begins with it.
    """
    for place, each in enumerate(closed):
        dates = {
            key: moment
            for key in ("start", "end")
            if isinstance(each, Mapping) and (moment := _date(each.get(key))) is not None
        }
        if dates and origin is None:
            for key in dates:
                problems.add(f"site.closed[{place}].{key}", UNDATED)
        elif dates:
            since = {key: max(0.0, moment - (origin or 0.0)) for key, moment in dates.items()}
            if since.get("end") != 0.0:
                yield {**each, **{key: f"{seconds} s" for key, seconds in since.items()}}
        else:
            yield each


UNDATED: Final = "is a date, and jobs that are drawn have none. Write the time since the first job."


def _date(told: object) -> float | None:
    """Seconds since 1970 of a date with a time of day; None for anything else."""
    try:
        found = datetime.fromisoformat(told) if isinstance(told, str) else told
        if isinstance(found, datetime):
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        pass
    return None


GPUS: Final = re.compile(r"gpu(?::([\w.-]+))?[:=](\d+)")

TableRow = tuple[str, int, Row]
"""A row with its file and its line."""

Numbers = Mapping[str, int]
"""Of nodes, by their names."""


def numbers_of(told: Mapping[str, Sequence[TableRow]], site: Told) -> Numbers:
    """The numbers of nodes with devices; equal nodes are told to `site` as its fleet."""
    nodes: list[tuple[str, str, int]] = []
    away: list[str] = []
    for name, line, row in told.get("NodeName", ()):
        with errors_at(f"{name}: line {line}"):
            gpus = GPUS.findall(row.get("Gres", "")) or GPUS.findall(row.get("CfgTRES", ""))
            # Resources tell all of them beside those of each kind.
            gpus = [each for each in gpus if each[0]] or gpus
            if len({kind for kind, _ in gpus}) > 1:
                raise InputError(f"{row['NodeName']} has devices of two kinds.")
            count = sum(int(many) for _, many in gpus)
            nodes += [(each, gpus[0][0], count) for each in hosts(row["NodeName"]) if gpus]
            gone = set(re.split(r"[+*]", row.get("State", "").upper())) & {"DOWN", "DRAIN", "FAIL"}
            away += [row["NodeName"]] if gpus and gone else []
    if away:
        lack(site, f"that {len(away)} nodes are down or drained, such as {away[0]}")
    if nodes:
        nodes.sort(key=lambda each: each[1:])
        alike = groupby(nodes, key=lambda each: each[1:])
        groups = [(kind, devices, len([*some])) for (kind, devices), some in alike]
        keys = ("kind", "devices", "nodes")
        site["fleet"] = {"kinds": [dict(zip(keys, group, strict=True)) for group in groups]}
        return {name: place for place, (name, _, _) in enumerate(nodes)}
    for name, line, _ in told.get("NodeName", ()):
        raise InputError(f"{name}: line {line}: no node has devices, such as Gres=gpu:8.")
    named: dict[str, int] = {}
    for name, line, row in told.get("PartitionName", ()):
        with errors_at(f"{name}: line {line}"):
            for each in _hosts_of(row):
                named.setdefault(each, len(named))
    return named


def _hosts_of(row: Row) -> list[str]:
    told = row.get("Nodes", "")
    return [] if told.lower() in UNLIMITED else hosts(told)


def _of_all(row: Row) -> bool:
    """Whether a record is of all nodes."""
    return row.get("Nodes", "").upper() == "ALL"


def _ranges(names: Sequence[str], numbers: Numbers) -> str:
    """Nodes as a study has them; those that are not known hold no device."""
    found = sorted(numbers[each] for each in names if each in numbers)
    parts = []
    for _, run in groupby(enumerate(found), key=lambda each: each[1] - each[0]):
        places = [place for _, place in run]
        parts.append(f"{places[0]}-{places[-1]}" if len(places) > 1 else f"{places[0]}")
    return ", ".join(parts)


def read_partition(site: Told, row: Row, numbers: Numbers) -> None:
    """A partition."""
    names = _hosts_of(row)
    if row["PartitionName"] == "DEFAULT":
        lack(site, "the defaults of partitions")
    # Others have nodes without devices alone.
    elif not names or _of_all(row) or any(each in numbers for each in names):
        told = _partition(site, row)
        told["nodes"] = _ranges(names, numbers)
        place = 0 if row.get("Default", "").upper() == "YES" else len(site.get("partitions", ()))
        site.setdefault("partitions", []).insert(place, told)


def _partition(site: Told, row: Row) -> Told:
    """A partition but for its nodes."""
    told: Told = {"name": row["PartitionName"]}
    if row.get("State", "UP") not in {"UP", "YES"}:
        lack(site, f"that the partition {told['name']} is {row['State']}")
    for key, column in (("tier", "PriorityTier"), ("factor", "PriorityJobFactor")):
        if column in row:
            told[key] = int(row[column])
    for key, column in (("longest", "MaxTime"), ("default", "DefaultTime")):
        if row.get(column, "").lower() not in UNLIMITED:
            told[key] = f"{seconds(row[column])} s"
    shared = row.get("OverSubscribe", "").upper()
    told["exclusive"] = shared == "EXCLUSIVE"
    if shared.startswith("FORCE") and shared != "FORCE:1":
        lack(site, f"that jobs of the partition {told['name']} take turns (OverSubscribe={shared})")
    return told | _billing(site, row)


def _billing(site: Told, row: Row) -> Told:
    """Billing weights of a partition; none where it has none."""
    billed = row.get("TRESBillingWeights", "").lower().split(",")
    weights = dict(each.split("=", 1) for each in billed if "=" in each)
    typed = [weight for key, weight in weights.items() if key.startswith("gres/gpu:")]
    if len(typed) > 1:
        lack(site, f"TRESBillingWeights of the partition {row['PartitionName']} by kind of device")
    if not weights:
        return {}
    devices = weights.get("gres/gpu", typed[0] if typed else 0.0)
    return {"device_weight": float(devices), "node_weight": float(weights.get("node", 0.0))}


def read_reservation(site: Told, row: Row, numbers: Numbers) -> None:
    """When nodes are kept free."""
    names = _hosts_of(row)
    if not (_of_all(row) or any(each in numbers for each in names)):
        return
    for column in ("Users", "Accounts"):
        if row.get(column, "").lower() not in UNLIMITED:
            told = f"that {row[column]} may use the reservation {row['ReservationName']}"
            lack(site, told)
    nodes = _ranges(names, numbers)
    site.setdefault("closed", []).append(
        {"start": row["StartTime"], "end": row["EndTime"], "nodes": nodes}
    )


def leaves_first(rows: Sequence[TableRow]) -> list[TableRow]:
    """Switches in such an order that those under one come before it.

    Args:
        rows: of `scontrol show topology`, or of topology.conf, which has no levels.
    """
    left, found = list(rows), list[TableRow]()
    while left:
        waiting = {each[2].get("SwitchName", "") for each in left}
        now = [each for each in left if waiting.isdisjoint(hosts(each[2].get("Switches", "")))]
        found += now or left  # who is in a circle is refused when the site is made
        left = [each for each in left if each not in now] if now else []
    return found


def read_switch(site: Told, row: Row, numbers: Numbers) -> None:
    """A switch, with the switches under it, or with nodes where it is a leaf.

    Those that have no node with devices are left out.
    """
    told: Told = {"name": row["SwitchName"]}
    below = row.get("Switches", "")
    if below.lower() not in UNLIMITED:
        there = {each["name"] for each in site.get("switches", ())}
        told["switches"] = [each for each in hosts(below) if each in there]
    else:
        told["nodes"] = _ranges(_hosts_of(row), numbers)
    if told.get("nodes") or told.get("switches"):
        site.setdefault("switches", []).append(told)


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """What is wrong with what is read inside is told with its place."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (ValueError, KeyError) as error:
        wrong = f"has no {error}." if isinstance(error, KeyError) else f"{error}."
        raise InputError(f"{where}: {wrong}") from None
