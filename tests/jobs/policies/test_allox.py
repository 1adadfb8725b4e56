"""AlloX, by hand."""

from tests.jobs.policies.divided import job, shares, state

from foretrain.jobs.policies.max_min import AlloX


def test_on_one_device_the_shortest_of_all_runs():
    there = [job(0, {"v100": 1.0}, work=9), job(1, {"v100": 1.0}, work=3)]
    assert AlloX(oldest=1.0)(state(there, v100=1)) == {1: {"v100": 1.0}}


def test_all_waiting_jobs_are_matched_as_in_the_code_of_gavel():
    """Its alpha is 1.0 unless somebody sets another."""
    assert AlloX().oldest == 1.0


def test_only_the_oldest_are_matched_but_one_per_idle_device():
    there = [job(0, {"v100": 1.0}, work=9), job(1, {"v100": 1.0}, work=3)]
    assert AlloX(oldest=0.2)(state(there, v100=1)) == {0: {"v100": 1.0}}


def test_who_has_a_device_keeps_it():
    policy = AlloX(oldest=1.0)
    long, short = job(0, {"v100": 1.0}, work=9), job(1, {"v100": 1.0}, work=3)
    policy(state([long], v100=1))
    assert policy(state([long, short], v100=1)) == {0: {"v100": 1.0}}


def test_a_device_is_free_once_its_job_has_ended():
    policy = AlloX(oldest=1.0)
    there = state([job(0, {"v100": 1.0}), job(1, {"v100": 1.0})], v100=1)
    policy(state([there.jobs[0].job], v100=1))
    left = type(there)(there.now, there.jobs[1:], there.fleet)
    assert policy(left) == {1: {"v100": 1.0}}


def test_it_is_better_to_wait_for_a_quick_device_than_to_begin_on_a_slow_one():
    there = [job(0, {"v100": 4.0, "k80": 1.0}, work=8), job(1, {"v100": 2.0, "k80": 1.0}, work=8)]
    # One by one on the V100 they respond in 2 and 6 s; side by side in 2 and 8 s, or 8 and 4 s.
    assert AlloX(oldest=1.0)(state(there, v100=1, k80=1)) == {0: {"v100": 1.0}}


def test_else_both_kinds_are_used():
    there = [job(0, {"v100": 4.0, "k80": 1.0}, work=8), job(1, {"v100": 2.0, "k80": 1.8}, work=8)]
    divided = AlloX(oldest=1.0)(state(there, v100=1, k80=1))
    assert divided == {0: {"v100": 1.0}, 1: {"k80": 1.0}}


def test_a_kind_that_a_job_cannot_use_is_never_given_to_it():
    divided = AlloX()(state([job(0, {"k80": 1.0})], v100=1, k80=1))
    assert shares(divided, "k80") == [1.0]
