"""Packets are let gather where they come quickly, and never for long."""

from hypothesis import given
from hypothesis import strategies as st

from batchcast.gathering import LONGEST, MEASURED, SHORTEST, Gathering

SLOTS = 1000


def run(gap, each, *, slots=SLOTS, seconds=1.0):
    """Naps of a conductor that is woken so long after it slept, while samples take so long."""
    gathering, now, naps = Gathering(), 0.0, []
    while now < seconds:
        now += gap
        naps.append(gathering.nap(now, published=int(now / each), slots=slots))
        now += naps[-1]
    return naps


def test_a_packet_after_a_quiet_moment_is_heard_at_once():
    assert not any(run(gap=10 * LONGEST, each=1e-5))


def test_what_comes_quickly_gathers():
    naps = run(gap=1e-4, each=1e-5)
    assert naps[-1] > SHORTEST
    assert len(naps) < 1000


def test_nobody_waits_where_nothing_is_prepared():
    gathering = Gathering()
    times = [n * 1e-4 for n in range(int(4 * MEASURED / 1e-4))]
    assert not any(gathering.nap(now, published=7, slots=SLOTS) for now in times[1:])


def test_an_arena_of_a_few_slots_is_served_at_once():
    assert not any(run(gap=1e-4, each=1e-5, slots=8))


@given(gap=st.floats(1e-4, 1e-2), each=st.floats(1e-7, 1e-1), slots=st.integers(2, 8192))
def test_a_nap_is_worth_it_and_short(gap, each, slots):
    assert all(
        nap == 0 or SHORTEST <= nap <= LONGEST for nap in run(gap, each, slots=slots, seconds=0.1)
    )
