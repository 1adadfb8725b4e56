"""Forecasts of a run on one node: parts add up, and who ends leaves the others its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.ensemble.one_node import Trains, Way, forecast, on_one_node
from foretrain.ensemble.plan import loading
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import HandingCosts, Input, Probed, SampleCosts, StepCosts

SHARED = Way(shared=True, workers=1)
PRIVATE = Way(shared=False, workers=0)


def probed(*, members=2, prepare=0.01, cpu=0.001, rate=1000.0, samples=100):
    costs = StepCosts(rate=rate, cpu=cpu, memory=1e6)
    return Probed(
        sample=SampleCosts(prepare=prepare, seconds=prepare, size=1e5, count=samples),
        handing=HandingCosts(),
        members={f"m{n}": costs for n in range(members)},
    )


def part(members, epochs, since=0):
    names = [f"m{n}" for n in range(members)]
    ends = epochs if isinstance(epochs, list) else [epochs] * members
    return Trains(
        batches=dict.fromkeys(names, 10), epochs=dict(zip(names, ends, strict=True)), since=since
    )


def expected(known, parts, way, cores=1):
    return forecast(known, parts, way, cores=cores, arena=1e6)


def test_one_core_prepares_once_for_all_or_once_for_each():
    known = probed(members=8)
    shared = expected(known, [part(8, 3)], SHARED)
    private = expected(known, [part(8, 3)], PRIVATE)
    assert shared.cpu == pytest.approx(3 * 100 * (0.01 + 8 * 0.001))
    assert private.cpu == pytest.approx(3 * 100 * 8 * (0.01 + 0.001))
    assert shared.seconds == pytest.approx(shared.cpu)
    assert private.seconds == pytest.approx(private.cpu)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 9), st.integers(1, 8))
def test_a_run_cut_into_parts_takes_as_long(members, first, more, cores):
    known = probed(members=members)
    whole = expected(known, [part(members, first + more)], SHARED, cores)
    parts = [part(members, first), part(members, first + more, since=first)]
    cut = expected(known, parts, SHARED, cores)
    assert (cut.seconds, cut.cpu) == pytest.approx((whole.seconds, whole.cpu))
    assert cut.rates == whole.rates


def test_a_member_that_ends_leaves_the_others_its_share():
    uneven = expected(probed(), [part(2, [1, 3])], PRIVATE)
    alone = expected(probed(), [part(1, 2)], PRIVATE)
    both = expected(probed(), [part(2, 1)], PRIVATE)
    assert uneven.seconds == pytest.approx(both.seconds + alone.seconds)


def test_samples_that_nobody_counted_give_rates_and_no_times():
    found = expected(probed(samples=None), [part(2, 1)], SHARED)
    assert (found.seconds, found.cpu) == (None, None)
    assert found.rates["m0"] > 0


def setting(known):
    return on_one_node(known, [*known.members], part(len(known.members), 1).batches, cores=2,
                       arena=1e6)  # fmt: skip


def test_the_way_is_the_better_one_unless_the_study_says_otherwise():
    dear, cheap = setting(probed(members=8)), setting(probed(members=1, prepare=1e-6))
    assert loading(dear, Input.AUTO, workers=None).input is Input.SHARED
    assert loading(cheap, Input.AUTO, workers=None).input is Input.PRIVATE
    asked = loading(dear, Input.PRIVATE, workers=None)
    assert asked.input is Input.PRIVATE
    assert asked.why.startswith("The study says so. Sharing pays")


def test_workers_that_the_study_says_are_taken():
    assert loading(setting(probed()), Input.SHARED, workers=2).way == Way(shared=True, workers=2)


def test_a_loader_is_shared_or_refused():
    assert loading(setting(probed()), Input.AUTO, workers=None, fed=True).way.fed
    with pytest.raises(InputError, match="needs a data set with a length and an index"):
        loading(setting(probed()), Input.PRIVATE, workers=None, fed=True)
