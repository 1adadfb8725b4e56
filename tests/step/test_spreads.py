"""Spreads: every way in which a group may lie is asked, and the best of them counts."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_models import decoders, expert_models
from tests.random_nouns import plans, settings

from foretrain.plan.plan import AXES
from foretrain.plan.table import inner_members, table_of
from foretrain.step.collective import exchange
from foretrain.step.placements import any_placement, placements
from foretrain.step.spreads import quickest, spreads
from foretrain.step.strategies.strategy import Pattern

SIZES = (0.0, 1.0, 1e4, 1e9)
levels = st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=3).map(tuple)
patterns = st.sampled_from(Pattern)


@st.composite
def questions(draw):
    """A setting and a legal plan on it, with experts or without."""
    setting = draw(settings(st.one_of(decoders(), expert_models())))
    return setting, draw(plans(setting))


@few(100)
@given(question=questions(), pattern=patterns, size=st.sampled_from(SIZES))
def test_no_placement_beats_the_best_spread_of_each_group(question, pattern, size):
    setting, plan = question
    table = table_of([plan])
    here, least = placements(setting, table)[0], any_placement(setting, table)[0]
    amount = np.array([size])
    for name, group in here.groups.items():
        assert least.groups[name].seconds(amount, pattern) <= group.seconds(amount, pattern)
    for axis, group in here.axes.items():
        assert least.axes[axis].seconds(amount, pattern) <= group.seconds(amount, pattern)
    assert least.hop.fixed <= here.hop.fixed
    assert least.hop.per_byte <= here.hop.per_byte


@few(100)
@given(levels=levels, data=st.data())
def test_groups_of_every_axis_in_every_order_are_among_the_spreads(levels, data):
    devices, degrees = prod(levels), []
    for _ in AXES[1:]:
        rest = devices // prod(degrees)
        degrees.append(data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0])))
    degrees.append(devices // prod(degrees))
    order = tuple(data.draw(st.permutations(AXES)))
    known = spreads(levels, devices, experts=False)
    for inside in inner_members(order, tuple(degrees), levels):
        assert tuple(map(float, inside)) in [*zip(*known[inside[-1]], strict=True)]


@given(levels=levels)
def test_spreads_hold_no_more_members_than_a_group_of_their_level_has_devices(levels):
    every = spreads(levels, prod(levels), experts=True)
    reach = np.cumprod(levels)[:, np.newaxis]
    for members, inside in every.items():
        assert (np.array(inside)[:-1] <= reach[:-1]).all()
        assert (np.array(inside)[-1] == members).all()
        assert (np.diff(np.array(inside), axis=0) >= 0).all()


@given(levels=levels)
def test_experts_only_add_spreads(levels):
    alone, both = (spreads(levels, prod(levels), experts=each) for each in (False, True))
    for members, inside in alone.items():
        assert {*zip(*inside, strict=True)} <= {*zip(*both[members], strict=True)}


@few(50)
@given(setting=settings(decoders()), pattern=patterns, size=st.sampled_from(SIZES))
def test_best_spread_is_one_of_them(setting, pattern, size):
    devices = setting.cluster.devices
    every = spreads(tuple(level.members for level in setting.cluster.levels), devices, experts=True)
    members = np.array([*every], float)
    best = quickest(setting.network, np.full(len(members), devices), members, experts=True)
    found = best.seconds(np.full(len(members), size), pattern)
    for row, inside in enumerate(every.values()):
        group = exchange([np.array(each) for each in inside], setting.network)
        assert found[row] == np.min(group.seconds(np.full(len(inside[0]), size), pattern))


def test_single_member_lies_in_one_way():
    assert spreads((8, 4), 32, experts=True)[1] == ((1.0,), (1.0,))


@pytest.mark.parametrize("levels", [(8, 4), (4, 8), (6, 3)])
def test_neighbours_are_one_of_the_ways_to_lie(levels):
    known = spreads(levels, prod(levels), experts=False)
    for members, inside in known.items():
        if levels[0] % members == 0:
            assert (float(members), float(members)) in [*zip(*inside, strict=True)]
