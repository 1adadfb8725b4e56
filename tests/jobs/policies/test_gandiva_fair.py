"""Gandiva-fair, by hand."""

from tests.jobs.policies.divided import job, shares, state

from foretrain.jobs.policies.elastic import gandiva_fair


def test_a_gang_gets_as_much_time_as_a_single_device():
    there = [job(0, {"v100": 1.0}), job(1, {"v100": 1.0}, devices=3)]
    assert shares(gandiva_fair(state(there, v100=2))) == [0.5, 0.5]


def test_nobody_gets_more_than_all_of_its_time():
    assert shares(gandiva_fair(state([job(0, {"v100": 1.0})], v100=2))) == [1.0]
    assert gandiva_fair(state([], v100=2)) == {}
