"""Collectives as rings of point-to-point sends, which count the bytes that a member sends.

Nothing here knows a cost model: a collective is what the textbooks draw, one neighbour to the next.
Every message has a purpose, by which its bytes are counted; bytes of framing are not payload.
"""

from collections import Counter
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

PATIENCE = 20.0
"""Seconds that a member waits for a message before it calls the sender lost."""


class Member:
    """One process of a run: its connections to the others, and what it has sent for what."""

    def __init__(self, rank, links):
        self.rank = rank
        self.sent, self.received = Counter(), Counter()
        self._links = links
        self._letters = {other: SimpleQueue() for other in links}
        for other, letters in self._letters.items():
            # A member may send before the other listens, however small the buffers between them.
            Thread(target=_deliver, args=(links[other], letters), daemon=True).start()

    def send(self, other, values, purpose):
        self.sent[purpose] += values.nbytes
        self._letters[other].put((purpose, np.ascontiguousarray(values)))

    def receive(self, other):
        if not self._links[other].poll(PATIENCE):
            raise TimeoutError(f"member {self.rank} heard nothing from member {other}")
        purpose, values = self._links[other].recv()
        self.received[purpose] += values.nbytes
        return values


def _deliver(link, letters):
    while True:
        link.send(letters.get())


@dataclass(frozen=True)
class Answer:
    """What a program returned at one member, and the bytes that came and went by purpose."""

    returned: Any = None
    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    error: str = ""


class Group:
    """The members of one axis, as one of them sees it. Alone it sends nothing."""

    def __init__(self, member, ranks):
        self.member = member
        self.ranks = tuple(ranks)
        self.size = len(self.ranks)
        self.place = self.ranks.index(member.rank)

    def send(self, place, values, purpose):
        self.member.send(self.ranks[place], values, purpose)

    def receive(self, place):
        return self.member.receive(self.ranks[place])

    def turn(self, values, purpose):
        """Hand something to the next member and take what the one before hands over."""
        self.send((self.place + 1) % self.size, values, purpose)
        return self.receive((self.place - 1) % self.size)

    def all_gather(self, values, purpose):
        """The values of all members, in their order."""
        found = {self.place: values}
        for step in range(self.size - 1):
            came = self.turn(found[(self.place - step) % self.size], purpose)
            found[(self.place - step - 1) % self.size] = came
        return [found[place] for place in range(self.size)]

    def reduce_scatter(self, parts, purpose):
        """The sum over all members of the part that is this member's; a part for each is given."""
        partial = parts[(self.place - 1) % self.size]
        for step in range(self.size - 1):
            mine = parts[(self.place - step - 2) % self.size]
            partial = self.turn(partial, purpose) + mine
        return partial

    def all_reduce(self, values, purpose):
        """The sum over all members, the same bits at each."""
        parts = np.array_split(values.ravel(), self.size)
        total = self.all_gather(self.reduce_scatter(parts, purpose), purpose)
        return np.concatenate(total).reshape(values.shape)

    def all_to_all(self, parts, purpose):
        """Part i of every member, at member i: one message to each, around the ring."""
        found = {self.place: parts[self.place]}
        for step in range(1, self.size):
            to, come = (self.place + step) % self.size, (self.place - step) % self.size
            self.send(to, parts[to], purpose)
            found[come] = self.receive(come)
        return [found[place] for place in range(self.size)]


def axes(member, degrees):
    """A group for each axis, given as {name: degree}, innermost first."""
    stride, found = 1, {}
    for name, degree in degrees.items():
        first = member.rank - member.rank // stride % degree * stride
        found[name] = Group(member, range(first, first + stride * degree, stride))
        stride *= degree
    return found
