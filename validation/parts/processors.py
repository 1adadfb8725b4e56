"""This machine: how busy its processors are, as Linux counts it, and what a record says of it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any


def busy_seconds() -> float:
    """Processor seconds of the whole machine until now; stolen ones count as used."""
    first = Path("/proc/stat").read_text("utf-8").splitlines()[0]
    user, nice, system, _idle, _waiting, *rest = map(int, first.split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def kernel() -> str:
    """The version of Linux, without what a builder put behind it."""
    return os.uname().release.partition("-")[0]


def this_machine() -> dict[str, Any]:
    """Machine, versions and date of a record."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "kernel": kernel(),
        "python": platform.python_version(),
        "torch": version("torch"),
    }
