"""The Pareto front: what no plan beats in any respect, in whatever order plans come."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import cluster, gpt_study

from foretrain.cluster.cluster import Power, cost, energy
from foretrain.cluster.offer import Offer
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.plan.table import table_of
from foretrain.search.candidate import Priced, Spending, spending
from foretrain.search.found import Front, by_count

SMALL = replace(cluster(nodes=4, node_devices=2, name="small"), power=Power(idle=1e3))
DEAR = cluster(nodes=4, node_devices=2, name="dear", price=3e-3, node_power=4e3)
EVERYTHING = Spending(money=True, power=True, several=True)
MONEY = Spending(money=True, power=False, several=True)
TIME = Spending(money=False, power=False, several=False)
DRAWN = Spending(money=False, power=True, several=False)

# Few values, so that ties in one respect and in all are common.
plans = st.builds(Plan, data=st.sampled_from([2, 4, 8]), micro_batch=st.integers(1, 3))
rows = st.lists(st.tuples(plans, st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=12)
tables = st.lists(st.tuples(st.sampled_from([SMALL, DEAR]), rows), max_size=5)


def drawn(place, plan, seconds):
    """Joules of a step that computes for a second for each sample of a micro-batch."""
    return energy(place, seconds, computing=float(plan.micro_batch), devices=float(plan.devices))


def priced(place, rows, spent):
    plans, seconds, memory = zip(*rows, strict=True)
    times = np.array(seconds, float)
    joules = [drawn(place, plan, time) for plan, time in zip(plans, times, strict=True)]
    return Priced(
        energy=np.array(joules) if spent.power else None,
        cluster=place,
        plans=table_of(plans),
        value=times,
        step_time=times,
        memory=np.array(memory, float),
    )


def front_of(spending, tables):
    front = Front(spending=spending)
    for place, rows in tables:
        front.add(priced(place, rows, spending))
    return front


def candidates(tables):
    return [
        table.candidate(row)
        for place, rows in tables
        for table in [priced(place, rows, TIME)]
        for row in range(len(rows))
    ]


def point(candidate, spent):
    """All respects in which plans are compared."""
    seconds, devices = candidate.step_time, float(candidate.plan.devices)
    values = [seconds, candidate.memory]
    if spent.several:
        values.append(cost(candidate.cluster, seconds, devices=devices))
    if spent.power:
        values.append(drawn(candidate.cluster, candidate.plan, seconds))
    return tuple(values)


def beats(one, other):
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def unbeaten(tables, spent):
    """The plans that nothing beats, of equals the one of the first rank, fastest first."""
    every = candidates(tables)
    points = {point(each, spent) for each in every}
    best = [p for p in points if not any(beats(other, p) for other in points)]
    first = [min((c for c in every if point(c, spent) == p), key=lambda c: c.rank) for p in best]
    return sorted(first, key=lambda each: (each.step_time, each.memory, each.rank))


@pytest.mark.parametrize("spent", [TIME, MONEY, DRAWN, EVERYTHING])
@given(tables=tables)
def test_front_holds_what_nothing_beats_and_the_first_of_equals(spent, tables):
    assert front_of(spent, tables).ranked == unbeaten(tables, spent)


@given(tables=tables, data=st.data())
def test_order_of_arrival_does_not_matter(tables, data):
    other = [
        (place, data.draw(st.permutations(rows)))
        for place, rows in data.draw(st.permutations(tables))
    ]
    assert front_of(EVERYTHING, tables).ranked == front_of(EVERYTHING, other).ranked


@given(tables=tables)
def test_plans_that_come_again_change_nothing(tables):
    assert front_of(MONEY, tables + tables).ranked == front_of(MONEY, tables).ranked


@pytest.mark.parametrize("spent", [TIME, MONEY, DRAWN, EVERYTHING])
@given(tables=tables, place=st.sampled_from([SMALL, DEAR]), rows=rows)
def test_bounds_are_beaten_only_where_all_that_they_bound_is(spent, tables, place, rows):
    """Whatever takes as long and as many bytes as a beaten bound, or more, is no new member."""
    front, bounds = front_of(spent, tables), priced(place, rows, spent)
    beaten = front.beats(bounds, np.arange(len(rows)))
    members = front.ranked
    for row in np.flatnonzero(beaten):
        for more in (0.0, 1.0):
            worst = replace(bounds, step_time=bounds.step_time + more)
            mine = point(worst.candidate(row), spent)
            assert any(beats(point(each, spent), mine) for each in members)


@given(tables=tables, place=st.sampled_from([SMALL, DEAR]), rows=rows)
def test_bounds_are_asked_about_by_rows(tables, place, rows):
    front, bounds = front_of(EVERYTHING, tables), priced(place, rows, EVERYTHING)
    every = front.beats(bounds, np.arange(len(rows)))
    alone = [bool(front.beats(bounds, np.array([row]))[0]) for row in range(len(rows))]
    assert every.tolist() == alone


def test_empty_front_beats_nothing():
    assert not front_of(TIME, []).beats(priced(SMALL, [(Plan(), 1, 1)], TIME), np.array([0])).any()


@given(st.lists(st.sampled_from([4.0, 8.0, 512.0]), min_size=1, max_size=20))
def test_rows_with_equal_counts_are_together(counts):
    parts = by_count(np.array(counts))
    assert sorted(row for part in parts for row in part) == list(range(len(counts)))
    assert [len({counts[row] for row in part}) for part in parts] == [1] * len(set(counts))


def test_what_is_drawn_counts_where_it_is_minimised():
    one = gpt_study(cluster=DEAR, objective=Objective.ENERGY)
    assert spending(one) == Spending(money=True, power=True, several=False)


def test_choice_decides_what_counts_beside_time_and_memory():
    one = gpt_study(cluster=DEAR)
    assert spending(one) == Spending(money=True, power=False, several=False)
    sizes = replace(one, offers=(Offer(cluster=DEAR, nodes=(2, 4)),))
    assert spending(sizes) == MONEY
    two = replace(one, offers=(*sizes.offers, Offer(cluster=SMALL, nodes=(4,))))
    assert spending(two) == EVERYTHING
    free = replace(SMALL, price=None, node_power=None)
    unknown = replace(one, offers=(*sizes.offers, Offer(cluster=free, nodes=(4,))))
    assert spending(unknown) == Spending(money=False, power=False, several=True)
