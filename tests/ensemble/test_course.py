"""Courses: what holds for each of them, whatever the rule."""

from dataclasses import replace
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms
from tests.examples import few
from validation.parts.tiny_ensembles import drawn

from foretrain.ensemble.costs import FleetTerms
from foretrain.ensemble.course import Course, legs
from foretrain.ensemble.fleet import fleet, fleet_g

cases = st.integers(0, 2**32).map(drawn)


def courses(case):
    found = fleet(case)
    return [found.fleet_g, found.fleet_l, found.improved, found.duplicate]


@given(case=cases)
@few(20)
def test_every_member_trains_on_exactly_its_samples(case):
    for course in courses(case):
        for place, work in case.work.items():
            trained = sum((leg.end - leg.start) * leg.paces.get(place, 0) for leg in course.legs)
            assert isclose(trained, work, rel_tol=1e-9)


@given(case=cases)
@few(20)
def test_no_device_has_two_members_and_no_member_more_devices_than_it_can_use(case):
    for course in courses(case):
        for flotilla in course.flotillas:
            devices = [device for there in flotilla.devices.values() for device in there]
            assert len(set(devices)) == len(devices)
            assert set(devices) <= set(range(case.devices))
        assert all(case.rate(place, n) for leg in course.legs for place, n in leg.deal.items())


@given(case=cases)
@few(20)
def test_legs_follow_one_another_and_only_a_new_deal_costs_a_checkpoint(case):
    for course in courses(case):
        for before, leg in zip(course.legs, course.legs[1:], strict=False):
            paid = case.checkpoint * (leg.dealt and course.rule != "duplicate")
            assert leg.start == before.end + paid
        assert course.seconds == max(course.ends.values())
        assert 0 < course.busy <= 1 + 1e-12


@given(case=cases, factor=st.sampled_from([0.5, 2.0, 16.0]))
@few(20)
def test_all_rates_times_a_factor_divide_every_time_by_it(case, factor):
    for slow, quick in zip(courses(case), courses(scaled(case, factor)), strict=True):
        assert isclose(slow.seconds, quick.seconds * factor, rel_tol=1e-9)


def scaled(case, factor):
    members = tuple(
        replace(member, rates=tuple(rate * factor for rate in member.rates))
        for member in case.ensemble.members
    )
    ensemble = replace(case.ensemble, members=members)
    checkpoint, tolerance = case.checkpoint / factor, case.tolerance * factor
    return FleetTerms(ensemble=ensemble, checkpoint=checkpoint, tolerance=tolerance)


def test_a_flotilla_says_who_had_which_devices_and_who_ended_in_it():
    case = terms([25.0, 100.0, 60.0], epochs=[2, 1, 1], devices=5, per_node=5, tolerance=0.0)
    course = Course(rule="FLEET-G", terms=case, legs=tuple(legs(case, fleet_g(case))))
    first, second = course.flotillas
    assert (first.start, first.end, first.ended) == (0.0, 20.0, ("b", "a"))
    assert first.devices == {"b": (0,), "a": (1, 2, 3, 4)}
    assert (second.start, second.devices) == (20.0, {"c": (0, 1, 2, 3, 4)})
    assert course.ends == {"b": 10.0, "a": 20.0, "c": pytest.approx(20.0 + 1000 / 300)}
    assert course.busy == pytest.approx((10 * 5 + 10 * 4 + 10 / 3 * 5) / (course.seconds * 5))


def test_a_stream_that_is_too_slow_sets_the_pace_of_all():
    case = terms([100.0, 100.0], devices=2, per_node=2, stream=40.0)
    assert [leg.end for leg in legs(case, fleet_g(case))] == [25.0]
