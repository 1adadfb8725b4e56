"""Every pair of strategies, schedules and memory policies that may combine keeps the contract."""

from dataclasses import fields, replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests.examples import every
from tests.step.prices import prices
from tests.step.resources import MORE, quickened, settled
from tests.step.strategies.policies import (
    ALLOWED,
    PAIRS,
    POLICIES,
    REFUSED,
    combined,
    question,
    reasons,
)

from foretrain.plan.plan import (
    AXES,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.step.result import Parts
from foretrain.step.strategies import STRATEGIES
from foretrain.workload.operator import Attention

ROUNDING = 1e-12
KINDS = (ContextExchange, Offload, Recompute, Schedule, Sends, Sharding, Attention)
one_of = pytest.mark.parametrize("policy", sorted({pair[0] for pair in ALLOWED}))


def tables():
    """The plans of all pairs that share a setting."""
    found = {}
    for pair, plan in ALLOWED.items():
        found.setdefault(question(pair, plan), []).append((pair, plan))
    return found


TABLES = tables()
every_table = pytest.mark.parametrize(
    "setting", TABLES, ids=lambda each: f"{each.workload.model.name} on {each.cluster.devices}"
)


def test_every_choice_of_every_table_is_a_policy():
    values = {value for each in POLICIES.values() for value in each.values()}
    default = {getattr(Plan(), field.name) for field in fields(Plan)}
    assert all(choice in values | default for kind in KINDS for choice in kind)
    read = {field for strategy in STRATEGIES.values() for field in strategy.reads}
    assert read <= {field for each in POLICIES.values() for field in each}


def test_pairs_that_legality_refuses_are_those_that_the_table_names():
    refused = {pair for pair, plan in PAIRS.items() if reasons(pair, plan)}
    assert {frozenset(pair) for pair in refused} == {frozenset(pair) for pair in REFUSED}


def test_most_pairs_combine():
    assert len(ALLOWED) > 0.75 * len(POLICIES) * (len(POLICIES) - 1) / 2


@one_of
def test_pair_alone_costs_what_its_row_does_and_its_parts_add_up(policy):
    for pair, plan in ALLOWED.items():
        if pair[0] != policy:
            continue
        setting = question(pair, plan)
        row = [each for each, _ in TABLES[setting]].index(pair)
        alone = {name: column[0] for name, column in prices(setting, [plan]).items()}
        assert alone == {name: column[row] for name, column in priced(setting).items()}, pair
        parts = {name: alone[name] for name in alone if name not in ("memory", "seconds")}
        assert Parts(**parts).total == alone["seconds"], pair
        assert min(parts.values()) >= -ROUNDING * alone["seconds"], pair


@cache
def priced(setting):
    """What all pairs of a setting cost, as one table."""
    return prices(setting, [plan for _, plan in TABLES[setting]])


@every_table
@pytest.mark.parametrize("power", [-3, 10])
def test_pairs_scale_with_every_rate(setting, power):
    quick = prices(quickened(setting, 2.0**power), [plan for _, plan in TABLES[setting]])
    for name, column in priced(setting).items():
        factor = 1.0 if name == "memory" else 2.0**power
        np.testing.assert_array_equal(quick[name] * factor, column, err_msg=name)


@cache
def unbalanced(setting):
    """The pairs of a setting whose cuts are no balanced ones, their plans and what these cost."""
    pairs = [each for each in TABLES[setting] if each[1].cut != "balanced"]
    plans = [settled(plan) for _, plan in pairs]
    return pairs, plans, prices(setting, plans)


@every_table
@pytest.mark.parametrize(("resource", "factor"), every(3, product(MORE, [1.3, 20.0]), slow=1))
def test_no_pair_takes_longer_with_more_of_a_resource(setting, resource, factor):
    """Balanced cuts apart: on a device whose layers take other times they are other cuts."""
    pairs, plans, before = unbalanced(setting)
    after = prices(MORE[resource](setting, factor), plans)
    longer = after["seconds"] > before["seconds"] * (1 + ROUNDING)
    assert [pairs[row][0] for row in np.flatnonzero(longer)] == []
    np.testing.assert_array_equal(after["memory"], before["memory"])


DEGREES = (*AXES, "expert", "expert_tensor")
IDLE = {
    "sharded optimizer": ("data", "context"),
    "sharded gradients": ("data", "context"),
    "sharded parameters": ("data", "context"),
    "kept parameters": ("data", "context"),
    "sequence": ("tensor",),
    "all-to-all": ("context",),
    "gpipe": ("pipeline",),
    "zero bubble": ("pipeline",),
    "balanced cut": ("pipeline",),
    "blocking sends": ("pipeline",),
}
"""Policies that say nothing where an axis has degree 1, and the axis."""


@pytest.mark.parametrize("name", IDLE)
def test_policy_of_an_axis_of_degree_one_is_free_beside_every_other(name):
    says = {field: value for field, value in POLICIES[name].items() if field not in DEGREES}
    beside = [
        other
        for other in POLICIES
        if not set(IDLE[name]) & set(POLICIES[other]) and combined(other, name) is not None
    ]
    assert len(beside) > 5
    for other in beside:
        plan = Plan(**POLICIES[other])
        found = prices(question([other], plan), [plan, replace(plan, **says)])
        for part, column in found.items():
            assert column[0] == column[1], (other, part)
