"""Degrees hidden from rows that state them: what was run is among what may be meant."""

from validation.degrees import POWERS, hidden, runs

from foretrain.measured import degrees
from foretrain.measured.degrees import weights


def test_what_was_run_is_among_what_may_be_meant():
    found = [each for run in list(runs())[:12] for each in hidden(run)]
    assert found
    assert all(0 <= each.stated < len(each.seconds) for each in found)


def test_a_row_of_one_configuration_counts_once():
    ids = [run.id for run in runs()]
    assert len(ids) == len(set(ids)) > 50


def test_speed_makes_what_was_run_likelier_than_chance():
    found = [each for run in list(runs())[:12] for each in hidden(run)]
    counted = [weights(each.seconds)[each.stated] * len(each.seconds) for each in found]
    assert sum(counted) / len(counted) > 1.0
    assert degrees.SPEED in POWERS
