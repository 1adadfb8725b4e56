"""Multiple-choice knapsacks: by hand, by trying everything, and against a general solver."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.jobs.policies import choice
from foretrain.jobs.policies.choice import Gain, most_gained, solved

gains = st.builds(
    Gain, kind=st.integers(0, 1), devices=st.integers(1, 6), gain=st.floats(-0.5, 2.0)
)
programs = st.tuples(
    st.lists(st.lists(gains, max_size=4), max_size=5),
    st.tuples(st.integers(0, 8), st.integers(0, 8)),
)


def value(jobs, picks, rooms):
    """Sum of gains of a choice that fits."""
    chosen = [own[pick] for own, pick in zip(jobs, picks, strict=True) if pick is not None]
    for kind, room in enumerate(rooms):
        assert sum(each.devices for each in chosen if each.kind == kind) <= room
    return sum(each.gain for each in chosen)


def tried(jobs, rooms):
    """The largest sum of gains of all choices that fit."""
    best = 0.0
    for picks in product(*[[None, *range(len(own))] for own in jobs]):
        chosen = [own[pick] for own, pick in zip(jobs, picks, strict=True) if pick is not None]
        needs = [sum(each.devices for each in chosen if each.kind == kind) for kind in (0, 1)]
        if all(need <= room for need, room in zip(needs, rooms, strict=True)):
            best = max(best, sum(each.gain for each in chosen))
    return best


@few(60)
@given(program=programs, prices=st.none() | st.tuples(st.floats(0, 3), st.floats(0, 3)))
def test_no_choice_gains_more_whatever_prices_one_begins_with(program, prices):
    jobs, rooms = program
    picks, _ = most_gained(jobs, rooms, prices=prices)
    assert value(jobs, picks, rooms) == pytest.approx(tried(jobs, rooms), abs=1e-7)


@few(20)
@given(program=programs)
def test_the_general_solver_finds_the_same(program):
    jobs, rooms = program
    if any(jobs):
        picks = solved(jobs, rooms)
        assert value(jobs, picks, rooms) == pytest.approx(tried(jobs, rooms), abs=1e-5)


def test_where_too_many_ways_would_be_looked_at_the_solver_is_asked(monkeypatch):
    jobs = [[Gain(0, wide, wide**0.5) for wide in (1, 2, 4)] for _ in range(6)]
    once = most_gained(jobs, [9])[0]
    monkeypatch.setattr(choice, "MOST", 1)
    asked = []
    monkeypatch.setattr(choice, "solved", lambda *program: asked.append(1) or solved(*program))
    again = most_gained(jobs, [9])[0]
    assert asked
    assert value(jobs, again, [9]) == pytest.approx(value(jobs, once, [9]))


def test_where_everybody_fits_each_has_what_gains_it_most():
    jobs = [[Gain(0, 1, 0.5), Gain(0, 2, 0.7)], [Gain(1, 4, -0.1)]]
    assert most_gained(jobs, [2, 4])[0] == [1, None]


def test_nobody_there_gains_nothing():
    assert most_gained([], [4])[0] == []
