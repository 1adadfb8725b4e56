"""Every strategy, schedule and memory policy alone, and every pair of them, against the ledger."""

import pytest
from tests.by_hand.cases import CASES, OURS, network_of, readings, steps
from tests.by_hand.counts.amounts import amounts
from tests.by_hand.networks import BATCH

from foretrain.plan.plan import SAID, Plan

BESIDES = {
    *(f"calls {each}" for each in ("forward", "backward")),  # the sum of those of its axes
    # Gradients of weights are told apart where they may wait, which is compute alone.
    *(f"{each} weights" for each in ("traffic", "kernels", "pcie")),
    "kernels context",  # kernels of a ring, which its passes have
}
"""What the meters read that the ledger does not count."""


def first(names):
    """The policy that a case is looked for by: its first, if it has any."""
    return names[0] if names else "one device"


one_of = pytest.mark.parametrize("policy", sorted({first(names) for names in CASES}))


@one_of
def test_plan_takes_what_is_counted_by_hand(policy):
    for names in CASES:
        if first(names) != policy:
            continue
        by_hand, read = amounts(CASES[names], **network_of(names)), readings()[names]
        assert len(read) == len(by_hand), names
        wrong = {
            (stage, name): (float(found[name]), value)
            for stage, (found, expected) in enumerate(zip(read, by_hand, strict=True))
            for name, value in expected.items()
            if found[name] != pytest.approx(value, rel=1e-12, abs=1e-9)
        }
        assert not wrong, names


@one_of
def test_step_has_all_its_passes_and_what_follows_them(policy):
    for names, plan in CASES.items():
        if first(names) != policy or plan.pipeline > 1:
            continue
        [stage] = amounts(plan, **network_of(names))
        passes = BATCH // plan.data
        assert steps()[names] == pytest.approx(
            dict.fromkeys(steps()[names], 0.0)
            | {axis: passes * stage[f"wire {axis}"] for axis in ("tensor", "context", "expert")}
            | {
                "gradients": passes * stage["wire reduced"] + stage["wire gradients"],
                "parameters": passes * stage["wire gathered"] + stage["wire parameters"],
            },
            rel=1e-12,
            abs=1e-6,
        ), names


def test_ledger_counts_everything_that_a_plan_takes():
    counted = set(amounts(Plan(), layers=2, routed=False)[0])
    taken = {
        name
        for stages in readings().values()
        for stage in stages
        for name, value in stage.items()
        if value > 1e-9
    }
    assert {name for name in taken - counted if name not in BESIDES} == set()


def test_ledger_reads_every_field_of_a_plan_that_policies_set():
    """A policy that brings a field of its own brings its arithmetic."""
    seen = set()

    class Watched:
        def __init__(self, plan):
            self.plan = plan

        def __getattr__(self, name):
            seen.add(name)
            return getattr(self.plan, name)

    for names in (
        ("interleaved",),
        ("shards of two",),
        ("recomputation of some layers",),
        ("offloaded activations of some layers",),
    ):
        amounts(Watched(CASES[names]), **network_of(names))
    unread = set(SAID) - seen
    # One sample to a micro-batch; sends that block or overlap, and orders, move the same bytes.
    # Pictures are counted in `test_pictures`.
    assert unread == {"micro_batch", "sends", "order", "grid", "convolutions", "split"}
    assert {name for each in OURS.values() for name in each} - seen <= {"sends"}
