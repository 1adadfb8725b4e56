"""Programs that show what the collectives do."""

import numpy as np
from tests.executor.rings import Group, axes


def all_reduced(member, values):
    group = Group(member, range(len(values)))
    return group.all_reduce(values[member.rank], "sums")


def exchanged(member, members):
    parts = [np.array([10 * member.rank + other]) for other in range(members)]
    return Group(member, range(members)).all_to_all(parts, "parts")


def both_send_first(member, values):
    other = 1 - member.rank
    member.send(other, np.zeros(values), "much")
    return member.receive(other).size


def laid_out(member, degrees):
    return {name: group.ranks for name, group in axes(member, degrees).items()}


def raising(member):
    if member.rank == 1:
        raise RuntimeError("member 1 has enough")
