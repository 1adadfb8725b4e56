"""Every policy alone and every pair of axes and shardings, against numbers that are written out."""

import pytest
from tests.by_hand.cases import CASES, OURS, network_of, readings
from tests.by_hand.counts.amounts import amounts
from tests.by_hand.written import ALONE
from tests.by_hand.written_pairs import PAIRS, ROUTED

from foretrain.plan.plan import Plan

AXES = ("tensor", "sequence", "ring", "all-to-all", "experts", "tensor experts", "pipeline")
REPLICAS = (
    "data",
    "sharded optimizer",
    "sharded gradients",
    "sharded parameters",
    "kept parameters",
    "shards of two",
)


def told(table):
    """Each name of a table that a key gives alternatives for, with the amounts of the key."""
    found = {}
    for key, written in table.items():
        chosen = [()]
        for choices in key.split(" + "):
            chosen = [(*names, each) for names in chosen for each in choices.split(" | ")]
        found |= dict.fromkeys(chosen, written)
    return found


WRITTEN = {**told(ALONE), **told(ROUTED)}
WRITTEN_PAIRS = told(PAIRS)
ELSEWHERE = ("traffic forward", "traffic backward", "wire forward", "wire backward")
"""Operands of kernels, and what of the wire's bytes goes in which pass, are in the ledger alone."""


def wrong(found, written):
    """Amounts that are read otherwise than written: one, or one for each stage."""
    several = {
        name: value if isinstance(value, tuple) else (value,) for name, value in written.items()
    }
    assert all(len(values) == len(found) for values in several.values())
    return {
        (stage, name): (float(found[stage][name]), value)
        for name, values in several.items()
        for stage, value in enumerate(values)
        if found[stage][name] != pytest.approx(value, rel=1e-12, abs=1e-9)
    }


@pytest.mark.parametrize("names", told(ALONE), ids=lambda names: names[0])
def test_policy_alone_takes_what_is_written(names):
    found = readings()[() if names == ("one device",) else names]
    assert not wrong(found, told(ALONE)[names])


@pytest.mark.parametrize("names", told(ROUTED), ids=lambda names: names[0])
def test_experts_take_what_is_written(names):
    found = readings()[(*names, "routed") if names == ("one device",) else names]
    assert not wrong(found, told(ROUTED)[names])


@pytest.mark.parametrize("name", [name for name in OURS if OURS[name].get("pipeline", 1) == 1])
def test_what_is_not_written_of_a_policy_is_as_on_one_device(name):
    routed = network_of((name,))["routed"]
    [one] = readings()[("one device", "routed") if routed else ()]
    counted = amounts(Plan(), layers=2, routed=False)[0]
    unwritten = [each for each in counted if each not in (*WRITTEN[name,], *ELSEWHERE)]
    assert not wrong(readings()[name,], {each: one[each] for each in unwritten})


@pytest.mark.parametrize("names", WRITTEN_PAIRS, ids=" and ".join)
def test_pair_takes_what_is_written(names):
    assert not wrong(readings()[names], WRITTEN_PAIRS[names])


def test_every_policy_is_written_out():
    assert {name for (name,) in WRITTEN} == {"one device", *OURS}


def test_every_pair_of_axes_and_shardings_is_written_out():
    wanted = {
        names
        for names in CASES
        if len(names) == 2 and set(names) <= {*AXES, *REPLICAS}
        # One says what the other says, and more.
        if not set(names) <= set(REPLICAS)
        if names not in {("tensor", "sequence"), ("tensor", "tensor experts")}
    }
    assert wanted == set(WRITTEN_PAIRS)
