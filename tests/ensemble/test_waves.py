"""Waves: more members than devices or memory, by hand, and what always holds."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms
from tests.examples import few

from foretrain.ensemble.waves import fewest_bins, first_fit_decreasing, waves

sizes = st.lists(st.integers(1, 10), min_size=1, max_size=6)


def with_memory(case, needs, capacity):
    members = tuple(
        replace(member, memory=float(need))
        for member, need in zip(case.ensemble.members, needs, strict=True)
    )
    return replace(case, ensemble=replace(case.ensemble, members=members, memory=float(capacity)))


def test_the_largest_goes_first_into_the_first_bin_with_room():
    assert first_fit_decreasing({0: 2.0, 1: 5.0, 2: 4.0, 3: 6.0}, 10.0) == ((3, 2), (1, 0))


def test_members_that_fit_at_once_train_in_one_wave_on_a_device_each():
    found = waves(terms([100.0, 50.0, 20.0], devices=4))
    assert found.waves[0].devices == (("c",), ("b",), ("a",), ())
    assert (found.seconds, found.least, len(found.waves)) == (50.0, 1, 1)


def test_members_share_a_device_rather_than_wait_where_that_is_quicker():
    # a and b take 20 ms for a sample, as long as c does alone.
    found = waves(terms([100.0, 100.0, 50.0], devices=2, per_node=2))
    assert found.waves[0].devices == (("c",), ("a", "b"))
    assert found.seconds == 20.0


def test_members_wait_for_a_second_wave_where_memory_is_short():
    case = with_memory(terms([100.0, 100.0, 50.0], devices=2, per_node=2), [6, 6, 6], 10)
    first, second = waves(case).waves
    assert (first.devices, second.devices) == ((("a",), ("b",)), (("c",), ()))
    assert first.ends == {"a": 10.0, "b": 10.0}
    assert (second.start, second.end) == (10.0, 30.0)
    assert waves(case).least == 2


def test_who_has_ended_leaves_its_turns_to_the_others():
    # 30 ms for a sample of all three until b has ended, then 20 ms.
    found = waves(terms([100.0, 100.0, 100.0], epochs=[2, 1, 2], devices=1, per_node=1))
    assert found.waves[0].ends == pytest.approx({"b": 30.0, "a": 50.0, "c": 50.0})


def test_a_slow_stream_makes_waves_dear_and_sharing_free():
    case = terms([100.0] * 4, devices=2, per_node=2, stream=25.0)
    assert (waves(case).seconds, len(waves(case).waves)) == (40.0, 1)


@given(needs=sizes, devices=st.integers(1, 3), rates=st.lists(st.floats(10, 99), min_size=6))
@few(60)
def test_everybody_trains_once_within_memory_and_no_later_than_one_by_one(needs, devices, rates):
    case = terms(rates[: len(needs)], devices=devices, per_node=1)
    case = with_memory(case, needs, 10)
    found = waves(case)
    memory = {member.name: member.memory for member in case.ensemble.members}
    trained = [name for wave in found.waves for slot in wave.devices for name in slot]
    assert sorted(trained) == sorted(memory)
    assert all(
        sum(memory[name] for name in slot) <= 10 for wave in found.waves for slot in wave.devices
    )
    assert found.least <= len(found.waves) <= -(-len(needs) // devices)
    assert found.seconds <= sum(1000 / rate for rate in rates[: len(needs)]) * (1 + 1e-9)


@given(needs=sizes)
@few(40)
def test_first_fit_decreasing_keeps_its_bound_and_the_fewest_bins_theirs(needs):
    packed = len(first_fit_decreasing(dict(enumerate(map(float, needs))), 10.0))
    best = min(_next_fit(order) for order in permutations(needs))
    assert fewest_bins(map(float, needs), 10.0) <= best <= packed <= 11 / 9 * best + 6 / 9


def _next_fit(order):
    """Bins of 10 filled one after another; some order needs the fewest there can be."""
    bins, free = 0, 0
    for size in order:
        if size > free:
            bins, free = bins + 1, 10
        free -= size
    return bins
