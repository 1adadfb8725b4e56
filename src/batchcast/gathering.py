"""When to let packets gather: waking a process up takes longer than hearing what it is told.

On a machine whose cores idle, to send a packet to a process that sleeps takes a hundred
microseconds or two, and a batch of light data is made in that time. As network cards do with their
interrupts, the first packet after a quiet moment is heard at once, and where the next one comes
soon after, those behind it are waited for and heard together.
"""

from __future__ import annotations

LONGEST = 0.008
"""Seconds of a nap at most."""

SHORTEST = 0.0002
"""Seconds below which falling asleep is not worth it."""

MEASURED = 0.02
"""Seconds over which it is measured how quickly samples come."""

SHARE = 8
"""In a nap no more than this part of the arena is filled."""


class Gathering:
    """How long the conductor of a stream may sleep before it listens again."""

    def __init__(self) -> None:
        self._woke = -LONGEST
        self._since: float | None = None
        self._then = 0
        self._each = 0.0

    def nap(self, now: float, *, published: int, slots: int) -> float:
        """Seconds to sleep; 0 where it is quiet, or where the arena would run full or empty.

        Args:
            now: in seconds of any clock.
            published: samples that are prepared so far.
            slots: of the arena.
        """
        self._measure(now, published)
        longest = min(LONGEST, self._each * slots / SHARE)
        quiet, self._woke = now - self._woke > longest, now
        if quiet or longest < SHORTEST:
            return 0.0
        self._woke += longest
        return longest

    def _measure(self, now: float, published: int) -> None:
        """Seconds that a sample takes."""
        if self._since is None:
            self._since, self._then = now, published
        elapsed, samples = now - self._since, published - self._then
        if elapsed >= MEASURED:
            self._each = elapsed / samples if samples > 0 else 0.0
            self._since, self._then = now, published
