"""Max-min fairness, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import examples
from tests.jobs.policies.divided import job, shares, state

from foretrain.errors import InputError
from foretrain.jobs.policies.max_min import max_min, max_min_over_kinds


def jobs(*devices):
    return [job(place, {"v100": 1.0}, devices=each) for place, each in enumerate(devices)]


def test_everybody_gets_equal_device_seconds():
    assert shares(max_min(state(jobs(1, 1, 2, 4), v100=2))) == [0.5, 0.5, 0.25, 0.125]


def test_where_all_fit_all_run():
    assert shares(max_min(state(jobs(1, 2), v100=4))) == [1.0, 1.0]


def test_what_is_left_over_goes_to_those_that_lack_time():
    assert shares(max_min(state(jobs(1, 4), v100=3))) == pytest.approx([1.0, 0.5])


def test_nobody_there_has_no_share():
    assert max_min(state([], v100=1)) == {}
    assert max_min_over_kinds(state([], v100=1)) == {}


def test_several_kinds_need_the_other_policy():
    with pytest.raises(InputError, match="one kind of device"):
        max_min(state(jobs(1), v100=1, k80=1))


def test_each_goes_where_it_gains_most():
    """With all of their time, both reach more than an equal share only where they gain."""
    gains = [job(0, {"v100": 4.0, "k80": 1.0}), job(1, {"v100": 1.0, "k80": 4.0})]
    divided = max_min_over_kinds(state(gains, v100=1, k80=1))
    assert shares(divided, "v100") == pytest.approx([1.0, 0.0], abs=1e-4)
    assert shares(divided, "k80") == pytest.approx([0.0, 1.0], abs=1e-4)


def test_who_has_enough_has_the_quicker_kind_for_more_of_his_time():
    """The other cannot have more than 1; both have some of either kind, as at an interior point."""
    gains = [job(0, {"v100": 4.0, "k80": 1.0}), job(1, {"v100": 1.0, "k80": 1.0})]
    divided = max_min_over_kinds(state(gains, v100=1, k80=1))
    keen, even = shares(divided, "v100")
    assert keen > even > 0.0
    assert sum(divided[1].values()) == pytest.approx(1.0, abs=1e-4)
    assert 1.6 * keen + 0.4 * divided[0]["k80"] > 1.0


def test_alike_jobs_share_the_quicker_kind_alike():
    alike = [job(place, {"v100": 3.0, "k80": 1.0}) for place in range(2)]
    divided = max_min_over_kinds(state(alike, v100=1, k80=1))
    assert shares(divided, "v100") == pytest.approx([0.5, 0.5], abs=1e-4)


def test_a_job_has_no_share_of_a_kind_that_it_cannot_use():
    divided = max_min_over_kinds(
        state([job(0, {"v100": 1.0}), job(1, {"v100": 1.0, "k80": 1.0})], v100=1, k80=1)
    )
    assert shares(divided, "k80")[0] == 0.0
    assert shares(divided, "v100")[0] >= 0.5


@examples.few(20)
@given(devices=st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=8))
def test_with_one_kind_both_agree_on_the_least(devices):
    there = state(jobs(*devices), v100=4)
    one, many = shares(max_min(there)), shares(max_min_over_kinds(there))
    least = [min(n * x for n, x in zip(devices, each, strict=True)) for each in (one, many)]
    assert least[1] == pytest.approx(least[0], rel=1e-3)
    assert sum(n * x for n, x in zip(devices, one, strict=True)) == pytest.approx(
        min(4.0, sum(devices))
    )
