"""Niceness: who goes first when processors are short, where the user asks for it.

A decode worker beside eight readers on two cores is one of five on its core. Whenever it has a
batch ready all eight wake up, it gets a fifth of a core until they are done, then they wait for
it while the other core idles. Processes of a stream that are less nice than its readers stay ahead
until the arena is full, and the readers find their batches there.
"""

from __future__ import annotations

import os

from batchcast.errors import ArgumentError


def renice(by: int) -> None:
    """Make this process, and all that are forked from it, nicer by so much; less nice below 0.

    Raises:
        ArgumentError: it may not be less nice.
    """
    if not by:
        return
    now = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, now + by)
    except PermissionError as error:
        raise ArgumentError(
            f"share: nice is {by}, and this user may not lower niceness. Allowed here: 0 or more; "
            "root may raise the limit (nice in /etc/security/limits.conf)."
        ) from error
