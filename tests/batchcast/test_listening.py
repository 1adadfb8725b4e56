"""Packets are let gather where they come quickly, and never for long."""

from hypothesis import given
from hypothesis import strategies as st

from batchcast.listening import LONGEST, SHARE, SHORTEST, Gathering

SLOTS = 1000


def run(gap, each, *, slots=SLOTS, seconds=1.0):
    """Naps of a conductor that is woken so long after it slept, while samples take so long."""
    gathering, now, naps = Gathering(), 0.0, []
    while now < seconds:
        now += gap
        naps.append(gathering.nap(now, each=each, slots=slots))
        now += naps[-1]
    return naps


def test_a_packet_after_a_quiet_moment_is_heard_at_once():
    assert not any(run(gap=2 * LONGEST, each=1e-5))


def test_what_comes_quickly_gathers():
    naps = run(gap=1e-4, each=1e-5)
    assert naps[0] == 0
    assert set(naps[1:]) == {1e-5 * SLOTS / SHARE}


def test_nobody_naps_until_it_is_known_what_a_sample_takes():
    assert not any(run(gap=1e-4, each=0.0))


def test_an_arena_of_a_few_slots_is_served_at_once():
    assert not any(run(gap=1e-4, each=1e-5, slots=8))


@given(gap=st.floats(1e-4, 1e-2), each=st.floats(1e-7, 1e-1), slots=st.integers(2, 8192))
def test_a_nap_is_worth_it_and_short_beside_what_fills_the_arena(gap, each, slots):
    for nap in run(gap, each, slots=slots, seconds=0.1):
        assert nap == 0 or SHORTEST <= nap <= min(LONGEST, each * slots / SHARE)
