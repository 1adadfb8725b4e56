"""Members of an ensemble: what can be one."""

from dataclasses import replace
from math import inf, nan

import pytest

from foretrain.errors import InputError
from foretrain.measured.members import Ensemble, Member

ONE = Member(name="one", batch=32, epochs=3, rates=(100.0, 180.0), memory=2e9)
TWO = replace(ONE, name="two", memory=5e9)
BOTH = Ensemble(members=(ONE, TWO), samples=1000, devices=8, devices_per_node=4, memory=8e9)


def test_work_and_steps_of_a_member_follow_from_its_epochs():
    assert ONE.rate == 100.0
    assert BOTH.nodes == 2
    assert BOTH.work(ONE) == 3000
    assert BOTH.steps(ONE) == 3 * 32  # 31 whole steps and a short one


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": ""}, "name is empty"),
        ({"batch": 0}, "member 'one': batch must be at least 1"),
        ({"epochs": 0}, "epochs must be above 0"),
        ({"epochs": inf}, "epochs must be above 0 and finite"),
        ({"rates": ()}, "Measure at least the rate on one device"),
        ({"rates": (100.0, nan)}, "each above 0"),
        ({"memory": -1.0}, "memory must be at least 0"),
    ],
)
def test_a_member_that_cannot_be_is_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        replace(ONE, **change)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"members": ()}, "at least one member"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"devices": 6}, "must fill whole nodes, got 6 devices in nodes of 4"),
        ({"memory": 0.0}, "memory must be above 0"),
        ({"memory": 4e9}, "member 'two' holds 5e\\+09 bytes, and a device has 4e\\+09"),
        ({"members": (ONE, replace(ONE, name="two", memory=None))}, "'two' says nothing"),
    ],
)
def test_an_ensemble_that_cannot_be_is_refused(change, problem):
    with pytest.raises(InputError, match=problem):
        replace(BOTH, **change)


def test_all_problems_are_told_at_once():
    with pytest.raises(InputError, match=r"2 members are called 'two'.*\n.*\n.*a device has"):
        replace(BOTH, members=(TWO, TWO), memory=4e9)
