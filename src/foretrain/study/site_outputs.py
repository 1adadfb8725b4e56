"""What a site's own commands print, as the keys of [site] and [fleet].

Of Slurm: `scontrol show config`, `partition`, `node` and `res`, `sacctmgr -P show qos` and `assoc`,
`sshare -a -l -P`. Of Kueue: its objects, which `quotas.py` reads. Each is known by its first lines.
Nodes are numbered as `scontrol show node` lists them, or else as partitions name them.

Source: slurm, the commands' manual pages and print.c; kueue, its v1beta2 objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.study.files import read_text
from foretrain.study.problems import Problems
from foretrain.study.quotas import queues_of
from foretrain.study.slurm_config import (
    PREEMPT_MODES,
    RECORDS,
    UNLIMITED,
    Row,
    Told,
    lack,
    records,
    seconds,
    site_of_config,
    table_rows,
)
from foretrain.study.slurm_nodes import (
    GPUS,
    Numbers,
    TableRow,
    errors_at,
    leaves_first,
    numbers_of,
    read_partition,
    read_reservation,
    read_switch,
)
from foretrain.units import as_written

MOST_BYTES: Final = 64 * 2**20
"""Of what a command prints: of ten thousand nodes some ten million."""

KNOWN: Final = (
    "scontrol show config, partition, node, res, lic or topology, sacctmgr -P show qos or assoc,"
    " sshare -a -l -P, kubectl get clusterqueues,cohorts -o json"
)

TABLES: Final[Mapping[str, frozenset[str]]] = {
    "sshare": frozenset({"Account", "RawShares"}),
    "assoc": frozenset({"Account", "User", "Share"}),
    "qos": frozenset({"Name", "Priority"}),
}
"""Tables by columns that they have."""

PATH: Final = "path"
"""Accounts above the row that is read, while a tree of shares is."""


def with_outputs(
    document: Mapping[str, Any], problems: Problems, *, folder: Path
) -> Mapping[str, Any]:
    """A study with what the files say that `site.config` names, where it does not say otherwise.

    Args:
        document: the study. Without [fleet] and [cluster] its nodes are those of the files.
        problems: take what is wrong with the files.
        folder: of the study.
    """
    site = document.get("site")
    if not isinstance(site, Mapping) or "config" not in site or site.get("infer") is True:
        return document
    whole = {key: value for key, value in site.items() if key != "config"}
    names = [site["config"]] if isinstance(site["config"], str) else site["config"]
    told: dict[str, Any] = {}
    with problems.noting("site.config"):
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise InputError(f"{as_written(names)} is no name of a file, nor a list of such names.")
        texts = {name: read_text(folder / name, most=MOST_BYTES) for name in names}
        told = site_of_outputs(texts)
    fleet = told.pop("fleet", None)
    found = {**document, "site": _over(told, whole)}
    if fleet and not {"cluster", "fleet"} & document.keys():
        found["fleet"] = fleet
    return found


def _over(told: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """What files tell, but for what is written."""
    found = {**told, **written}
    for key, value in told.items():
        if isinstance(value, dict) and isinstance(written.get(key), dict):
            found[key] = {**value, **written[key]}
    return found


def site_of_outputs(texts: Mapping[str, str]) -> Told:
    """What files say of a site, in the keys of [site]; under "fleet" what they say of its nodes.

    Args:
        texts: what stands in each file, by its name.

    Raises:
        InputError: with what cannot be read of the first file that is wrong, and where.
    """
    found: dict[str, list[TableRow]] = {}
    site: Told = {}
    for name, text in texts.items():
        with errors_at(name):
            if text.lstrip().startswith("{"):
                _add(site, queues_of(text))
            elif not EMPTY.fullmatch(text.strip()):
                _sort(name, text, found=found, site=site)
    found["SwitchName"] = leaves_first(found.get("SwitchName", ()))
    numbers = numbers_of(found, site)
    for kind, read in READERS.items():
        for name, line, row in found.get(kind, ()):
            with errors_at(f"{name}: line {line}"):
                read(site, row, numbers)
    site.pop(PATH, None)
    return site


def _sort(name: str, text: str, *, found: dict[str, list[TableRow]], site: Told) -> None:
    """Put the rows of a file to others of their kind; what a configuration says goes to `site`."""
    if table := _table(text):
        found.setdefault(table, []).extend((name, *each) for each in table_rows(text))
        return
    begins = [kind for kind, first in RECORDS.items() if first.search(text)]
    if not begins or CONFIGURED.search(text):
        _add(site, site_of_config(text))
    for line, row in records(text) if begins else ():
        kind = next((each for each in begins if each in row), begins[0])
        found.setdefault(kind, []).append((name, line, row))


def _add(site: Told, told: Mapping[str, Any]) -> None:
    for key, value in told.items():
        if isinstance(value, list):
            site.setdefault(key, []).extend(value)
        elif isinstance(value, dict):
            site.setdefault(key, {}).update(value)
        else:
            site[key] = value


EMPTY: Final = re.compile(r"No \w+ (?:in|configured in) (?:the|this) \w+\.?")
"""What `scontrol show` prints of things that there are none of."""

CONFIGURED: Final = re.compile(
    r"^(?:SchedulerType|SlurmctldHost|ClusterName|PriorityType)\s*=", re.M
)
"""In a configuration, which may hold nodes and partitions too, as slurm.conf does."""


def _table(text: str) -> str:
    """Which table a file is; empty for none.

    Raises:
        InputError: a table that is none of those known.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    if "|" not in first:
        return ""
    header = {each.strip() for each in first.split("|")}
    for kind, needs in TABLES.items():
        if needs <= header:
            return kind
    raise InputError(f"is a table of columns that are not known. Known: {KNOWN}.")


def _devices(told: str) -> int | None:
    """Devices of all kinds, or of the one kind that is named."""
    found = {kind: int(count) for kind, count in GPUS.findall(told)}
    return found.get("", next(iter(found.values())) if len(found) == 1 else None)


UNKEPT: Final = (
    "GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins",
    "MaxWall", "MaxTRESRunMinsPU", "MaxTRESRunMinsPA", "MinTRES",
)  # fmt: skip
"""Columns of limits that are not kept."""


def _unkept_limits(site: Told, row: Row, whose: str) -> None:
    """Tell of limits that are not kept."""
    for column in UNKEPT:
        if row.get(column, "").strip():
            lack(site, f"{column} of {whose}")
    for column in ("GrpTRES", "MaxTRESPU", "MaxTRESPA", "MaxTRESPerUser", "MaxTRESPerAccount"):
        if _devices(row.get(column, "")) is None and GPUS.search(row.get(column, "")):
            lack(site, f"{column} of {whose} by kind")


def _license(site: Told, row: Row, _: Numbers) -> None:
    """Licences that there are, but for those that are kept for a reservation."""
    count = int(row["Total"]) - int(row.get("Reserved", 0))
    if count > 0:
        site.setdefault("licenses", {})[row["LicenseName"].partition("@")[0]] = count


def _limits(site: Told, row: Row, where: Told, *, columns: Mapping[str, tuple[str, ...]]) -> None:
    """Limits of devices and jobs in the cells of a row, each under the first name that is there."""
    limit = dict(where)
    for key, names in columns.items():
        cell = next((row[each] for each in names if row.get(each)), "")
        value = _devices(cell) if key == "devices" else int(cell) if cell else None
        if value is not None and value >= 0:
            limit[key] = value
    if limit.keys() - where.keys():
        site.setdefault("limits", []).append(limit)


def _quality(site: Told, row: Row, _: Numbers) -> None:
    name, flags = row["Name"], row.get("Flags", "").split(",")
    told: Told = {"name": name, "priority": float(row["Priority"] or 0.0)}
    if row.get("Preempt"):
        told["preempts"] = row["Preempt"].split(",")
    if row.get("PreemptExemptTime", "").lower() not in UNLIMITED:
        told["exempt"] = f"{seconds(row['PreemptExemptTime'])} s"
    if row.get("PreemptMode", "").lower() in PREEMPT_MODES:
        told["mode"] = row["PreemptMode"].lower()
    if row.get("UsageFactor"):
        told["usage_factor"] = float(row["UsageFactor"])
    told["reserves"] = "NoReserve" not in flags
    site.setdefault("qos", []).append(told)
    _unkept_limits(site, row, f"the quality {name}")
    if row.get("GraceTime", "") not in {"", "00:00:00"}:
        lack(site, f"GraceTime of the quality {name}")
    of = {"of": "qos", "named": name}
    for each, short in (("user", "U"), ("account", "A")):
        per = each.capitalize()
        columns = {
            "devices": (f"MaxTRESP{short}", f"MaxTRESPer{per}"),
            "jobs": (f"MaxJobsP{short}", f"MaxJobsPer{per}"),
        }
        _limits(site, row, {"each": each, **of}, columns=columns)
    _limits(site, row, of, columns={"devices": ("GrpTRES",), "jobs": ("GrpJobs",)})


PARENTS: Final = "which account is under which, if sacctmgr -P show assoc tells no ParentName"


def _association(site: Told, row: Row, _: Numbers) -> None:
    _share(site, row, row["Share"])
    if not {"ParentName", "Par Name"} & row.keys() and len(site.get("accounts", ())) > 1:
        lack(site, PARENTS)
    _unkept_limits(site, row, row["User"].strip() or f"the account {row['Account'].strip()}")
    user, account = row["User"].strip(), row["Account"].strip()
    party = {"of": "user", "named": user} if user else {"of": "account", "named": account}
    if account != "root" or user:
        devices, jobs = ("GrpTRES",), ("MaxJobs", "GrpJobs") if user else ("GrpJobs",)
        _limits(site, row, party, columns={"devices": devices, "jobs": jobs})


def _share(site: Told, row: Row, shares: str, *, usage: str = "") -> None:
    """A row of the tree of shares."""
    account, user = row["Account"].strip(), row.get("User", "").strip()
    above = _above(site, row)
    told: Told = {"name": user or account}
    if shares.strip() == "parent" and not user:
        lack(site, f"that the account {account} shares as its parent does")
    elif shares.strip():
        told["shares"] = "parent" if shares.strip() == "parent" else float(shares)
    if user:
        told["account"] = account if account != "root" else ""
        told |= {"usage": f"{float(usage):g} s"} if usage.strip() else {}
        _tell(site.setdefault("users", []), told)
    elif account != "root":
        told |= {"parent": above} if above not in {"", "root"} else {}
        _tell(site.setdefault("accounts", []), told)


def _above(site: Told, row: Row) -> str:
    """The account above that of a row: it is named, or else less indented."""
    name = row["Account"]
    deep = len(name) - len(name.lstrip())
    path: list[tuple[int, str]] = site.setdefault(PATH, [])
    while path and path[-1][0] >= deep:
        path.pop()
    above = path[-1][1] if path else ""
    if not row.get("User", "").strip():
        path.append((deep, name.strip()))
    return row.get("ParentName", row.get("Par Name", "")).strip() or above


def _tell(rows: list[Told], told: Told) -> None:
    """Add what is told to what was told of the same name and account."""
    for each in rows:
        if each["name"] == told["name"] and each.get("account") == told.get("account"):
            each.update(told)
            return
    rows.append(told)


def _shared(site: Told, row: Row, _: Numbers) -> None:
    _share(site, row, row["RawShares"], usage=row.get("RawUsage", ""))


READERS: Final[Mapping[str, Callable[[Told, Row, Numbers], None]]] = {
    "PartitionName": read_partition,
    "ReservationName": read_reservation,
    "SwitchName": read_switch,
    "BlockName": lambda site, _row, _numbers: lack(site, "topology/block"),
    "LicenseName": _license,
    "qos": _quality,
    "assoc": _association,
    "sshare": _shared,
}
"""What each record of a kind tells."""
