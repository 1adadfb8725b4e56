"""Terms of an ensemble: rates of all members on all devices, and limits."""

from dataclasses import replace
from math import nan

import pytest
from tests.ensemble.ensembles import terms

from foretrain.errors import InputError

TWO = terms([(100.0, 180.0), 50.0], devices=4, per_node=2)


def test_a_member_has_no_rate_on_more_devices_than_it_can_use():
    assert TWO.rate(0, 2) == 180.0
    assert TWO.rate(0, 3) == 0.0
    assert TWO.rate(1, 3) == 150.0


def test_members_in_step_go_at_the_pace_of_the_slowest_or_of_the_stream():
    assert TWO.pace({0: 1, 1: 3}) == 100.0
    assert TWO.pace({0: 2, 1: 1}) == 50.0
    assert replace(TWO, stream=30.0).pace({0: 2, 1: 1}) == 30.0


@pytest.mark.parametrize(
    "limits", [{"checkpoint": -1.0}, {"stream": 0.0}, {"host": nan}, {"tolerance": -1.0}]
)
def test_limits_that_cannot_be_are_refused(limits):
    with pytest.raises(InputError, match=f"Terms.{next(iter(limits))} must be"):
        replace(TWO, **limits)
