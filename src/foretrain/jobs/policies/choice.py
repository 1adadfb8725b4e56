"""Multiple-choice knapsacks: at most one configuration for each job, for the largest sum of gains.

The integer program of Sia, solved exactly without a general solver. Each kind of device has a
price; at prices, every job has a configuration that gains it most, and what it forgoes with another
one is known. The sum of what all jobs forgo, and the price of devices that stay idle, are by how
much a choice falls short of a bound that no choice exceeds. So only choices that forgo little need
be looked at: those within a budget, which grows until the best of them is within it.

Source: lagrangian relaxation of capacities, fisher1981.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import NamedTuple

SWEEPS = 30
"""Steps of the search for prices; any prices give the same answer, good ones quickly."""

MOST = 4_000
"""Ways to use devices that are remembered beside each other; above it, a solver is asked."""

GAP = 1e-9
"""Gain that is none: a rounding of floats."""


class Gain(NamedTuple):
    """A configuration of a job.

    Attributes:
        kind: place of its kind of device.
        devices: how many.
        gain: of the job, over being left out.
    """

    kind: int
    devices: int
    gain: float


Jobs = Sequence[Sequence[Gain]]


class Forgone(NamedTuple):
    """A configuration of a job, or none, at prices.

    Attributes:
        place: among the job's; None to be left out.
        kind: of its devices.
        devices: how many.
        forgoes: of what the job gains most at these prices.
    """

    place: int | None
    kind: int
    devices: int
    forgoes: float


def most_gained(
    jobs: Jobs, rooms: Sequence[int], *, prices: Sequence[float] | None = None
) -> tuple[list[int | None], tuple[float, ...]]:
    """Configuration of each job, by its place; None where it is left out.

    Args:
        jobs: configurations of each.
        rooms: devices of each kind.
        prices: of a device of each kind, to begin with; such as those of the last round.

    Returns:
        The configurations, and the prices that were found.
    """
    found = tuple(prices or (0.0,) * len(rooms))
    alone = [_sorted(each, (0.0,) * len(rooms)) for each in jobs]
    free = [options[0] for options in alone]
    if all(need <= room for need, room in zip(_needs(free, rooms), rooms, strict=True)):
        return [option.place for option in free], found
    found = _priced(jobs, rooms, found)
    options = [_sorted(each, found) for each in jobs]
    short = _first(options, rooms, found)
    budget = short / 4.0
    while True:
        chosen = _within(options, rooms, found, budget=budget)
        if chosen is None:
            return solved(jobs, rooms), found
        if chosen[1] <= budget + GAP:
            return chosen[0], found
        budget = min(chosen[1], max(2.0 * budget, GAP))


def _sorted(own: Sequence[Gain], prices: Sequence[float]) -> list[Forgone]:
    """Configurations of a job, and none, those that forgo the least first."""
    worth = [each.gain - prices[each.kind] * each.devices for each in own]
    most = max(0.0, *worth) if worth else 0.0
    listed = [
        Forgone(place, each.kind, each.devices, most - value)
        for place, (each, value) in enumerate(zip(own, worth, strict=True))
    ]
    listed.append(Forgone(None, 0, 0, most))
    return sorted(listed, key=lambda each: (each.forgoes, each.devices))


def _needs(chosen: Sequence[Forgone], rooms: Sequence[int]) -> list[int]:
    """Devices of each kind."""
    needs = [0] * len(rooms)
    for each in chosen:
        needs[each.kind] += each.devices
    return needs


def _priced(jobs: Jobs, rooms: Sequence[int], prices: tuple[float, ...]) -> tuple[float, ...]:
    """Prices with about the least bound on the sum of gains, by subgradients."""
    import numpy as np

    most = max(len(each) for each in jobs)
    gain = np.zeros((len(jobs), most + 1))
    wide, kind = np.zeros_like(gain), np.zeros_like(gain, dtype=np.intp)
    for row, own in enumerate(jobs):
        for column, each in enumerate(own):
            kind[row, column], wide[row, column], gain[row, column] = each
    capacity, rows = np.array(rooms, dtype=np.float64), np.arange(len(jobs))
    at = best = np.array(prices)
    least, stride = np.inf, float((gain / np.maximum(wide, 1.0)).max()) / 4.0
    for _ in range(SWEEPS):
        worth = gain - at[kind] * wide
        picks = worth.argmax(axis=1)
        bound = float(worth[rows, picks].sum() + at @ capacity)
        if bound < least:
            least, best = bound, at
        else:
            stride /= 2.0
        asked = np.bincount(kind[rows, picks], weights=wide[rows, picks], minlength=len(capacity))
        lacks = asked - capacity
        norm = float(np.sqrt(lacks @ lacks))
        if norm == 0.0:
            break
        at = np.maximum(0.0, best + stride * lacks / norm)
    return tuple(best.tolist())


def _idle(needs: Sequence[int], rooms: Sequence[int], prices: Sequence[float]) -> float:
    """Price of the devices that stay idle."""
    return sum(p * (r - n) for n, r, p in zip(needs, rooms, prices, strict=True))


def _first(
    options: Sequence[Sequence[Forgone]], rooms: Sequence[int], prices: Sequence[float]
) -> float:
    """By how much a choice falls short of the bound: each takes the best that still fits."""
    needs, forgone = [0] * len(rooms), 0.0
    for own in sorted(options, key=lambda own: -own[-1].forgoes):
        each = next(each for each in own if needs[each.kind] + each.devices <= rooms[each.kind])
        needs[each.kind] += each.devices
        forgone += each.forgoes
    return forgone + _idle(needs, rooms, prices)


class DeviceUses:
    """Ways to use devices, with the least that jobs together forgo for each.

    A way is one number: devices of each kind, in the place value of that kind.
    """

    def __init__(self, rooms: Sequence[int]) -> None:
        self._rooms = rooms
        self._strides = [prod(room + 1 for room in rooms[:place]) for place in range(len(rooms))]
        self.forgone: dict[int, float] = {0: 0.0}
        self._layers: list[dict[int, tuple[int, int | None]]] = []

    def needs(self, used: int) -> list[int]:
        """Devices of each kind."""
        pairs = zip(self._strides, self._rooms, strict=True)
        return [used // stride % (room + 1) for stride, room in pairs]

    def add(self, own: Sequence[Forgone], budget: float) -> None:
        """One more job, with all that may be chosen for it within a budget.

        Args:
            own: what the job forgoes with each configuration, the least first.
            budget: of all jobs together.
        """
        after: dict[int, float] = {}
        layer: dict[int, tuple[int, int | None]] = {}
        for used, before in self.forgone.items():
            for each in own:
                forgone = before + each.forgoes
                if forgone > budget:
                    break
                room, stride = self._rooms[each.kind], self._strides[each.kind]
                now = used + stride * each.devices
                if used // stride % (room + 1) + each.devices > room:
                    continue
                if forgone < after.get(now, inf):
                    after[now], layer[now] = forgone, (used, each.place)
        self.forgone = after
        self._layers.append(layer)

    def picks(self, used: int) -> list[int | None]:
        """What each job has, the first to be added first."""
        picks = []
        for layer in reversed(self._layers):
            used, place = layer[used]
            picks.append(place)
        return picks[::-1]


def _within(
    options: Sequence[Sequence[Forgone]],
    rooms: Sequence[int],
    prices: Sequence[float],
    *,
    budget: float,
) -> tuple[list[int | None], float] | None:
    """The best choice of those in which all jobs together forgo no more than a budget.

    Returns:
        The choice, and by how much it falls short of the bound; infinite where none fits. None
        where there are too many to be looked at.
    """
    ways = DeviceUses(rooms)
    for own in options:
        ways.add(own, budget + GAP)
        if len(ways.forgone) > MOST:
            return None
    if not ways.forgone:
        return [], inf

    def short(used: int) -> float:
        return ways.forgone[used] + _idle(ways.needs(used), rooms, prices)

    best = min(ways.forgone, key=short)
    return ways.picks(best), short(best)


def solved(jobs: Jobs, rooms: Sequence[int]) -> list[int | None]:
    """The same by a general solver."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    listed = [(row, place, each) for row, own in enumerate(jobs) for place, each in enumerate(own)]
    rows = [row for row, _, _ in listed] + [len(jobs) + each.kind for _, _, each in listed]
    columns = [*range(len(listed))] * 2
    values = [1.0] * len(listed) + [float(each.devices) for _, _, each in listed]
    bounds = [1.0] * len(jobs) + [float(room) for room in rooms]
    # The solver of SciPy 1.13 reads indices of 32 bits only.
    places = np.array((rows, columns), dtype=np.intc)
    matrix = coo_array((values, (places[0], places[1])), shape=(len(bounds), len(listed)))
    found = milp(
        np.array([-each.gain for _, _, each in listed]),
        integrality=np.ones(len(listed)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), ub=bounds),
        options={"mip_rel_gap": 1e-6},
    )
    assert found.x is not None, found.message
    picks: list[int | None] = [None] * len(jobs)
    for (row, place, _), share in zip(listed, found.x, strict=True):
        if share > 0.5:
            picks[row] = place
    return picks
