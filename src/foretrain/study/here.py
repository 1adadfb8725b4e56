"""This machine as a cluster of one node: what its driver and its kernel say.

GPUs that the catalogue knows are taken from there; a machine without any is its processor, whose
peak is cores times clock times the width of its vector units.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError
from foretrain.study.catalogue import (
    CatalogueEntry,
    Figure,
    cluster_document,
    device_document,
    find,
    leaves,
    names,
)
from foretrain.study.keys import alone

NAME: Final = "here"
SMI: Final = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
INSTEAD: Final = "Describe it with cluster.device and cluster.levels."
CPU: Final = "cpu"
SOURCE: Final = "driver and kernel of this machine; links and what they do not tell are assumed"

LANES: Final[Mapping[str, int]] = {"avx512f": 16, "avx": 8, "sse2": 4}
"""Values of 32 bits in a vector register, widest first."""
PIPES: Final = 2
"""Vector units of a core that multiply. Source: fog2025, x86 server cores since 2013."""
MEMORY_BANDWIDTH: Final = "51.2 GB/s"
"""Two channels of DDR4-3200, which no file states. Source: JEDEC JESD79-4,
from memory."""

Run = Callable[[], str]
Read = Callable[[str], str]


def run_smi() -> str:
    """What the NVIDIA driver says of its GPUs, one a line; nothing where there is none."""
    try:
        return subprocess.run(SMI, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def read_proc(name: str) -> str:
    """A file of the kernel about this machine.

    Raises:
        InputError: there is none.
    """
    try:
        return Path("/proc", name).read_text()
    except OSError:
        raise InputError(f"this machine has no /proc/{name}. {INSTEAD}") from None


def here(run: Run = run_smi, read: Read = read_proc) -> dict[str, Any]:
    """This machine as a user would describe it in a study.

    Args:
        run: asks the driver for the names and MiB of the GPUs.
        read: reads `cpuinfo` and `meminfo`.

    Raises:
        InputError: it cannot be described; the message says what is missing.
    """
    gpus, cpuinfo = run().strip().splitlines(), read("cpuinfo")
    sockets = re.findall(r"^physical id\s*: (\d+)", cpuinfo, re.M)
    cores = re.findall(r"^core id\s*: (\d+)", cpuinfo, re.M)
    processors = re.findall(r"^processor\s*:", cpuinfo, re.M)
    # Physical cores; processors where the kernel does not tell cores apart.
    number = len(set(zip(sockets, cores, strict=False))) or max(1, len(processors))
    memory = re.search(r"^MemTotal:\s*(\d+) kB", read("meminfo"), re.M)
    if memory is None:
        raise InputError(f"/proc/meminfo does not tell the memory. {INSTEAD}")
    host = {"cores": number, "memory": f"{memory[1]} KiB"}
    return _of_gpus(gpus, host) if gpus else _of_processor(cpuinfo, host)


def entry() -> CatalogueEntry:
    """This machine as an entry of the catalogue.

    Raises:
        InputError: it cannot be described; the message says what is missing.
    """
    said = dict(leaves(here()))
    numbers = {key: value for key, value in said.items() if re.match(r"[0-9]", str(value))}
    return CatalogueEntry(
        name=NAME,
        kind="cluster",
        family="This machine",
        summary='The machine that asks, as a study with name = "here" sees it',
        words={key: str(value) for key, value in said.items() if key not in numbers},
        figures=tuple(
            Figure(key=key, value=value, source=SOURCE, confidence="medium")
            for key, value in numbers.items()
        ),
    )


def remark(cluster: Cluster) -> str:
    """What was assumed of this machine, in words."""
    if cluster.device.name == CPU:
        return (
            f"cluster = this machine: {cluster.device.units} cores, peak from their clock and "
            f"vector width, memory at {MEMORY_BANDWIDTH}"
        )
    found = f"cluster = this machine: {cluster.devices} {cluster.device.name}"
    return (
        found
        if cluster.devices == 1
        else f"{found}, linked as in {_resembling(cluster.device.name)}"
    )


def _of_gpus(gpus: list[str], host: dict[str, Any]) -> dict[str, Any]:
    """One node of GPUs, linked as in the cluster of the catalogue that has them."""
    kinds = {line.rpartition(",")[0].strip() for line in gpus}
    if len(kinds) > 1:
        raise InputError(f"this machine has GPUs of several kinds: {', '.join(sorted(kinds))}.")
    called = kinds.pop()
    try:
        name = find("devices", called)
    except InputError:
        raise InputError(
            f"this machine has '{called}', which is not in the catalogue. {INSTEAD}"
        ) from None
    device = {**device_document(name), "memory": f"{gpus[0].rpartition(',')[2].strip()} MiB"}
    resembling = _resembling(name)
    if resembling is None and len(gpus) == 1:
        return {"device": device, "levels": alone()}
    if resembling is None:
        raise InputError(f"no cluster of the catalogue has {name}. {INSTEAD}")
    like = cluster_document(resembling)
    node = next(level for level in like["levels"] if level["name"] == "node")
    found = {"device": device, "levels": [{**node, "members": len(gpus)}]}
    return found | ({"host": {**like["host"], **host}} if "host" in like else {})


def _resembling(device: str) -> str | None:
    """The first cluster of the catalogue that has a device; None if none has."""
    for name in names()["clusters"]:
        if cluster_document(name)["device"]["name"] == device:
            return name
    return None


def _of_processor(cpuinfo: str, host: dict[str, Any]) -> dict[str, Any]:
    """One node whose only device is its processor."""
    clocks = [float(clock) for clock in re.findall(r"^cpu MHz\s*: ([0-9.]+)", cpuinfo, re.M)]
    flags = set(" ".join(re.findall(r"^flags\s*: (.*)", cpuinfo, re.M)).split())
    lanes = next((width for flag, width in LANES.items() if flag in flags), None)
    if not clocks or lanes is None:
        raise InputError(f"/proc/cpuinfo tells neither clock nor vector units. {INSTEAD}")
    fused = 2 if "fma" in flags else 1
    peak = host["cores"] * max(clocks) * 1e6 * lanes * fused * PIPES
    rates = {"fp32": f"{peak / 1e9} GFLOP/s"}
    if "avx512_bf16" in flags:
        rates["bf16"] = f"{2 * peak / 1e9} GFLOP/s"
    device = {
        "name": CPU,
        "peak": rates,
        "memory": host["memory"],
        "memory_bandwidth": MEMORY_BANDWIDTH,
        "units": host["cores"],
    }
    speeds = {"memory_bandwidth": MEMORY_BANDWIDTH, "device_bandwidth": MEMORY_BANDWIDTH}
    return {"device": device, "levels": alone(), "host": {**host, **speeds}}
