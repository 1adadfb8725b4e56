"""FLEET's rules on cases worked out by hand."""

from tests.ensemble.ensembles import terms

from foretrain.ensemble.course import CourseState, legs
from foretrain.ensemble.fleet import fleet_g, fleet_l, flotilla, levelled


def dealt(case, rule):
    return [dict(leg.deal) for leg in legs(case, rule(case)) if leg.dealt]


def test_a_flotilla_takes_in_those_whose_rate_comes_nearest_to_the_quickest():
    # a leads with 100. Nearest: b on 2 devices (104), then d on 4 (92); c misses by 30 at best.
    case = terms([100.0, 52.0, (65.0, 130.0), 23.0], devices=8)
    assert flotilla(case, range(4)) == {0: 1, 1: 2, 3: 4 + 1}  # the last one is left over


def test_who_comes_nearest_needs_devices_that_are_free():
    # b would come nearest on 4 devices, but only 3 are free: there it misses by 25.
    case = terms([100.0, 25.0], devices=4)
    assert flotilla(case, range(2)) == {0: 4}
    assert flotilla(terms([100.0, 25.0], devices=4, tolerance=25.0), range(2)) == {0: 1, 1: 3}


def test_twenty_samples_per_second_are_near_and_more_are_not():
    assert flotilla(terms([100.0, 80.0], devices=2, per_node=2), range(2)) == {0: 1, 1: 1}
    assert flotilla(terms([100.0, 79.9], devices=2, per_node=2), range(2)) == {0: 2}


def test_the_earlier_one_of_equal_members_goes_first():
    case = terms([100.0, 95.0, 105.0, 95.0], devices=2, per_node=2)
    assert flotilla(case, [0, 1, 3]) == {0: 1, 1: 1}
    assert flotilla(case, range(4)) == {2: 1, 0: 1}


def test_left_over_devices_go_one_by_one_to_the_slowest():
    case = terms([(40.0, 70.0, 90.0, 100.0), (30.0, 60.0, 75.0, 80.0)], devices=4)
    assert levelled(case, {0: 1, 1: 1}) == {0: 2, 1: 2}


def test_devices_that_would_slow_the_slowest_down_stay_free():
    assert levelled(terms([(40.0, 39.0), 50.0]), {0: 1, 1: 1}) == {0: 1, 1: 1}


def test_a_flotilla_ends_when_less_than_four_fifths_of_the_devices_are_busy():
    # b ends: 4 of 5 devices are busy, and a goes on; without tolerance c waits for both.
    case = terms([25.0, 100.0, 60.0], epochs=[2, 1, 1], devices=5, per_node=5, tolerance=0.0)
    assert dealt(case, fleet_g) == [{1: 1, 0: 4}, {2: 5}]
    case = terms([25.0, 100.0, 60.0], epochs=[1, 2, 1], devices=5, per_node=5, tolerance=0.0)
    assert dealt(case, fleet_g) == [{1: 1, 0: 4}, {1: 5}, {2: 5}]


def test_fleet_g_saves_who_has_not_converged_and_starts_it_again():
    case = terms([100.0, 100.0, 90.0], epochs=[1, 3, 1], devices=2, per_node=2, checkpoint=4.0)
    first, second, third = legs(case, fleet_g(case))
    assert (first.start, first.end, dict(first.deal)) == (0.0, 10.0, {0: 1, 1: 1})
    # a has ended. After the checkpoint b, with 2000 samples left, meets c at 90 samples/s.
    assert (second.start, dict(second.deal)) == (14.0, {1: 1, 2: 1})
    assert second.end == 14.0 + 1000 / 90
    # c has ended. After another one b has both devices for its last 1000 samples.
    assert (third.start, dict(third.deal)) == (second.end + 4.0, {1: 2})
    assert third.end == third.start + 1000 / 200


def test_fleet_l_fills_devices_again_as_soon_as_a_member_ends():
    # a ends first. The others go at 85 samples/s, and f comes near to that, not to a's 100.
    case = terms(
        [100.0, 98.0, 95.0, 90.0, 85.0, 70.0], epochs=[1, 2, 2, 2, 2, 1], devices=5, per_node=5
    )
    together, first_deal = {1: 1, 2: 1, 3: 1, 4: 1}, {0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
    assert dealt(case, fleet_g) == [first_deal, {5: 5}]
    assert dealt(case, fleet_l) == [first_deal, {**together, 5: 1}]


def test_members_that_have_nobody_to_wait_for_get_all_devices():
    case = terms([100.0, 30.0], devices=2, per_node=2)
    assert dealt(case, fleet_g) == dealt(case, fleet_l) == [{0: 2}, {1: 2}]


def test_nothing_is_dealt_out_anew_while_enough_devices_are_busy():
    case = terms([25.0, 100.0], devices=5, per_node=5)
    running = {0: 4}
    assert fleet_g(case)(CourseState({0: 500.0}, running, 10.0)) is running
