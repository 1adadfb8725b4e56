"""FIFO, EASY and conservative backfilling: worked cases, and what conservative promises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, trace

from foretrain.cluster.mixed import fleet
from foretrain.jobs.conservative import ConservativeDispatcher, DeviceProfile
from foretrain.jobs.run import run

CASES = {
    "W1": (8, [(0, 4, 100), (1, 6, 100), (2, 4, 90), (3, 2, 300)],
           [0, 100, 200, 200], [0, 100, 2, 92], [0, 100, 2, 92]),
    "W2": (8, [(0, 5, 100), (1, 8, 50), (2, 2, 150), (3, 3, 90)],
           [0, 100, 150, 150], [0, 100, 150, 3], [0, 100, 150, 3]),
    "W3": (8, [(0, 6, 100, 60), (1, 8, 100), (2, 2, 98), (3, 2, 50)],
           [0, 60, 160, 160], [0, 100, 2, 200], [0, 100, 2, 200]),
    "W4": (100, [(0, 70, 100), (1, 80, 100), (2, 90, 100), (50, 20, 250)],
           [0, 100, 200, 300], [0, 100, 300, 50], [0, 100, 200, 300]),
    "W5": (4, [(0, 2, 100), (0, 3, 100), (0, 2, 100), (0, 1, 200), (0, 1, 100)],
           [0, 100, 200, 200, 200], [0, 100, 0, 100, 200], [0, 100, 0, 100, 200]),
}  # fmt: skip
"""Devices, jobs by (submission, devices, limit) or with the time that they run, and starts."""


def asked(*rows):
    return trace(
        job(place, arrival=float(row[0]), devices=row[1], work=float(row[-1]),
            estimate=float(row[2]))
        for place, row in enumerate(rows)
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("place", "policy"), [(2, "fifo"), (3, "easy"), (4, "conservative")])
def test_worked_cases(name, place, policy):
    """Checked by pyss, an independent simulator, in all fifteen cells."""
    devices, rows, *_ = CASES[name]
    assert list(run(asked(*rows), fleet(devices), policy).begun) == CASES[name][place]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(1, 4), st.integers(1, 12), st.integers(1, 12)
    ).map(lambda row: (row[0], row[1], row[2], min(row[2], row[3]))),
    min_size=1,
    max_size=12,
)  # fmt: skip


class Promising(ConservativeDispatcher):
    """Notes what each job was planned to start at when it came."""

    def __init__(self, nodes):
        super().__init__(nodes)
        self.promised = {}

    def _plan(self, active, now):
        plan = super()._plan(active, now)
        self.promised.setdefault(active.rank, plan.start)
        return plan


@few(60)
@given(rows=ROWS)
def test_nobody_starts_after_the_moment_that_it_was_promised_when_it_came(rows):
    dispatcher = Promising(fleet(4))
    begun = dispatched(asked(*sorted(rows)), dispatcher, 4).begun
    assert all(begun[rank] <= promised for rank, promised in dispatcher.promised.items())


@few(60)
@given(
    taken=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 2)), max_size=6),
    devices=st.integers(1, 12),
    seconds=st.integers(1, 9),
    now=st.integers(0, 20),
)
def test_the_earliest_place_is_the_first_moment_from_which_enough_is_free(
    taken, devices, seconds, now
):
    profile = DeviceProfile(12.0)
    free = [12] * 60
    for start, lasts, some in taken:
        profile.change(float(start), float(start + lasts), -some)
        for moment in range(start, start + lasts):
            free[moment] -= some
    walked = next(at for at in range(now, 50) if min(free[at : at + seconds]) >= devices)
    assert profile.earliest(devices, float(seconds), float(now)) == walked
