"""The event kernel: actions that happen at a time, in an order that never varies.

Simulations of a step, of parameter servers and of a whole cluster stand on it. Events at the same
time happen in the order in which they were asked for, and what waits for the instant to be over
after all of them; so the same simulation gives the same history on every machine, and nothing ever
happens in the past.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

Action = Callable[[], None]


class Events:
    """A clock and what is still to happen.

    Attributes:
        now: seconds since the simulation began; never goes back.
    """

    __slots__ = ("_actions", "_asked", "_over", "_queue", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int]] = []
        self._actions: dict[int, Action] = {}
        self._over: deque[Action] = deque()
        self._asked = 0

    def __len__(self) -> int:
        """Events still to happen."""
        return len(self._actions) + len(self._over)

    def at(self, time: float, action: Action) -> int:
        """Ask for an action at a time.

        Args:
            time: seconds since the simulation began; not before `now`.
            action: what then happens; it may ask for further events.

        Returns:
            The event's id, by which it can be cancelled.
        """
        assert self.now <= time < inf, f"event at {time} s, but it is {self.now} s"
        event = self._asked
        self._asked = event + 1
        self._actions[event] = action
        heappush(self._queue, (time, event))
        return event

    def after(self, delay: float, action: Action) -> int:
        """Ask for an action some seconds from now; otherwise as `at`.

        Said once more and not by way of `at`: simulations spend a tenth of their time here.
        """
        now = self.now
        time = now + delay
        assert now <= time < inf, f"event at {time} s, but it is {now} s"
        event = self._asked
        self._asked = event + 1
        self._actions[event] = action
        heappush(self._queue, (time, event))
        return event

    def once_over(self, action: Action) -> None:
        """Ask for an action after everything else that happens at this time.

        Args:
            action: what then happens; if it asks for events of this time, they come before what
                else waits for the time to be over.
        """
        self._over.append(action)

    def cancel(self, event: int) -> bool:
        """Keep an event from happening.

        Args:
            event: what `at` or `after` returned.

        Returns:
            Whether it was still to happen.
        """
        return self._actions.pop(event, None) is not None

    def run(self, *, until: float = inf) -> None:
        """Let everything happen up to a time, that time included.

        Args:
            until: where the clock stops, in seconds; without it, run until nothing is left and
                let the clock stand at the last event.
        """
        queue, taken, over = self._queue, self._actions.pop, self._over
        while queue or over:
            if over and not (queue and queue[0][0] == self.now):
                over.popleft()()
                continue
            first = heappop(queue)
            time, event = first
            if time > until:
                heappush(queue, first)
                break
            action = taken(event, None)
            if action is not None:
                self.now = time
                action()
        if until < inf:
            self.now = max(self.now, until)
