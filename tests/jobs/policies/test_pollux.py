"""Pollux: by hand, and its division against trying everything."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.policies.states import active, devices_of, state

from foretrain.errors import InputError
from foretrain.jobs.policies.gain import Pollux, allotted
from foretrain.throughput import PowerLaw

LINEAR = PowerLaw(exponent=1.0, most=16)
SUBLINEAR = PowerLaw(exponent=0.5, most=16)


def test_a_new_job_is_given_one_device_at_first():
    assert devices_of(Pollux()(state(active(0, LINEAR), devices=16, per_node=4))) == {0: 1}


def test_what_a_job_tries_doubles():
    for holds, then in ((1, 2), (2, 4), (4, 8), (8, 16)):
        seen = state(active(0, LINEAR, holds=holds), devices=16, per_node=4, now=600.0)
        assert devices_of(Pollux()(seen)) == {0: then}


def test_beyond_a_node_whole_nodes_are_used():
    seen = state(active(0, LINEAR, holds=3), devices=16, per_node=4, now=600.0)
    assert devices_of(Pollux()(seen)) == {0: 4}


def test_equal_jobs_get_equal_shares():
    jobs = [active(place, SUBLINEAR, holds=8) for place in range(2)]
    assert devices_of(Pollux()(state(*jobs, devices=16, per_node=4, now=600.0))) == {0: 8, 1: 8}


def test_the_job_that_scales_better_gets_more():
    jobs = active(0, SUBLINEAR, holds=4), active(1, LINEAR, holds=4)
    grants = devices_of(Pollux(delay=0.0)(state(*jobs, devices=12, per_node=4, now=600.0)))
    assert grants[1] > grants[0]


def test_a_job_that_was_restarted_all_the_time_is_left_alone():
    calm = active(0, LINEAR, holds=4)
    shaken = active(0, LINEAR, holds=4, stops=19)
    for job, then in ((calm, 8), (shaken, 4)):
        assert devices_of(Pollux()(state(job, devices=16, per_node=4, now=600.0))) == {0: then}


def test_nobody_is_left_without_devices_while_there_are_enough():
    jobs = [active(place, LINEAR, holds=1) for place in range(16)]
    grants = Pollux()(state(*jobs, devices=16, per_node=4, now=600.0))
    assert devices_of(grants) == dict.fromkeys(range(16), 1)


def test_the_widest_jobs_are_placed_first():
    jobs = active(0, SUBLINEAR, holds=2), active(1, LINEAR, holds=8)
    grants = Pollux()(state(*jobs, devices=16, per_node=4, now=600.0))
    assert list(devices_of(grants).values()) == sorted(devices_of(grants).values(), reverse=True)


@few(30)
@given(
    options=st.lists(
        st.dictionaries(st.integers(1, 6), st.floats(0.0, 10.0), max_size=4), min_size=1, max_size=4
    ),
    devices=st.integers(0, 8),
)
def test_no_division_costs_less(options, devices):
    costs = [{0: 5.0, **each} for each in options]
    chosen = allotted(costs, devices)
    assert sum(chosen) <= devices
    best = min(
        sum(mine[count] for mine, count in zip(costs, counts, strict=True))
        for counts in product(*costs)
        if sum(counts) <= devices
    )
    mine = sum(mine[count] for mine, count in zip(costs, chosen, strict=True))
    assert mine == pytest.approx(best)


def test_a_job_without_devices_counts_as_the_authors_count_it():
    """Theirs adds 1e-3 to every speed-up before the mean of exponent -1: 1,000 for none."""
    options = Pollux()._options(active(0, LINEAR), state(active(0, LINEAR), devices=16, per_node=4))
    assert options[0] == pytest.approx(1000.0)
    assert options[1] == pytest.approx(1.0 / (1.0 / 16.0 + 1e-3))


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match="fairness must be below 0"):
        Pollux(fairness=1.0)
    with pytest.raises(InputError, match="idle between 0 and 1"):
        Pollux(idle=0.0)
