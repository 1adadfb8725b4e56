"""The choice of a course: never worse than no sharing, and near to the shortest there is."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms
from tests.examples import MORE, few
from validation.parts.tiny_ensembles import drawn, shortest

from foretrain.ensemble.fleet import fleet

cases = st.integers(0, 2**32).map(drawn)


@given(case=cases)
@few(20)
def test_the_best_course_is_never_longer_than_any_other(case):
    found = fleet(case)
    assert found.improved.seconds <= min(found.fleet_g.seconds, found.fleet_l.seconds)
    assert found.best.seconds == min(found.improved.seconds, found.duplicate.seconds)


def test_a_course_without_sharing_is_said_to_be_one():
    # In step, a waits for b and goes on by itself for 20 s; alone, it ends long before b.
    case = terms([(100.0,), (10.0,)], epochs=[3, 1], devices=2, per_node=2)
    found = fleet(case)
    assert (found.improved.seconds, found.duplicate.seconds) == (120.0, 100.0)
    assert found.best.rule == "duplicate"
    assert "does not pay" in found.reason


def test_a_slow_host_makes_sharing_pay():
    case = terms([50.0] * 4, devices=4, host=60.0, stream=60.0)
    found = fleet(case)
    assert found.best.rule == "FLEET-G, improved"
    assert (found.best.seconds, found.duplicate.seconds) == (20.0, 1000 / 15)
    assert "3.33x as quick" in found.reason


def test_four_members_as_on_the_page_about_fleet():
    found = fleet(terms([100.0, 52.0, 65.0, 23.0], devices=8, checkpoint=4.0))
    first, second = found.fleet_g.flotillas
    assert {name: len(there) for name, there in first.devices.items()} == {"a": 1, "b": 2, "d": 5}
    assert (first.end, second.start, second.end) == (10.0, 14.0, 14.0 + 1000 / 520)
    assert (found.best.seconds, found.duplicate.seconds) == (1000 / 69, 1000 / 23)


def test_random_tiny_cases_come_within_a_twentieth_of_the_shortest_course_on_the_mean():
    gaps = [gap(drawn(seed)) for seed in range(20 * MORE)]
    assert min(gaps) >= -1e-9
    assert sum(gaps) / len(gaps) <= 0.05


def gap(case):
    """How much longer the course is than the shortest: with one stream, or one device each."""
    found = fleet(case)
    return found.best.seconds / min(shortest(case), found.duplicate.seconds) - 1


@given(case=cases)
@few(20)
def test_a_quicker_stream_never_makes_the_duplicate_course_longer(case):
    limited = replace(case, host=30.0)
    assert fleet(limited).duplicate.seconds >= fleet(case).duplicate.seconds - 1e-6
