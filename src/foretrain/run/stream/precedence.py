"""Who goes first when processors are short: the processes that all others wait for.

A decode worker beside eight readers on two cores is one of five on its core. Whenever it has a
batch ready all eight wake up, it gets a fifth of a core until they are done, then they wait for
it while the other core idles: a quarter of the processor time was lost. A worker that is preferred
stays ahead until the arena is full, so the readers find their batches there. The conductor, which
they all ask, goes first too.
"""

from __future__ import annotations

import os
from contextlib import suppress

_NICENESS = -10
"""Nine times the share of a process that asks for nothing, by the kernel's table of weights."""


def go_first() -> None:
    """Have the scheduler prefer this process to those that wait for it, as far as it lets us.

    Where Linux shares processors out among sessions first (autogroup), a session of its own is
    enough, and everybody may have one; elsewhere niceness counts, which takes a privilege.
    """
    os.setsid()
    with suppress(PermissionError):
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, min(now, _NICENESS))
