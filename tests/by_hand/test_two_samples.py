"""Two samples at once: twice the products, activations and tokens, the same parameters and calls.

williams2009: what a kernel computes and moves of activations grows with the samples that it gets;
how often it is called, and what belongs to parameters, does not.
"""

from dataclasses import replace

import pytest
from tests.by_hand import meters
from tests.by_hand.cases import CASES, OURS, network_of
from tests.by_hand.counts.amounts import amounts
from tests.by_hand.networks import network

TWICE = (
    "flop forward",
    "flop backward",
    "flop weights",
    "wire tensor",
    "wire context",
    "wire expert",
    "wire send",
    "pcie forward",
    "bytes of activations",
)
ONCE = (
    "launches forward",
    "launches backward",
    "kernels forward",
    "kernels backward",
    "calls tensor",
    "calls context",
    "calls expert",
    "calls gathered",
    "calls reduced",
    "wire gathered",
    "wire reduced",
    "wire gradients",
    "wire parameters",
    "bytes of weights",
    "bytes of gradients",
    "bytes of optimizer",
    "traffic update",
)


@pytest.mark.parametrize("name", [name for name in OURS if name != "gpipe"])
def test_two_samples_take_twice_of_what_belongs_to_samples(name, monkeypatch):
    meters.with_whole_products(monkeypatch)
    asked, plan = network_of((name,)), CASES[name,]
    [read] = meters.read(network(**asked), [replace(plan, micro_batch=2)])
    by_hand = amounts(plan, **asked)
    for found, one in zip(read, by_hand, strict=True):
        expected = {each: 2 * one[each] for each in TWICE} | {each: one[each] for each in ONCE}
        wrong = {
            each: (found[each], value)
            for each, value in expected.items()
            if found[each] != pytest.approx(value, rel=1e-12, abs=1e-9)
        }
        assert not wrong


def test_gpipe_keeps_half_as_many_micro_batches_of_twice_the_size():
    """huang2019, section 2.3: all wait, so that only the head's, which follow at once, double."""
    plan = replace(CASES["gpipe",], micro_batch=2)
    [read] = meters.read(network(), [plan])
    # Of a sample: inputs of two norms and two products; queries, keys, values and outputs; gated
    # branches and their product; an fp32 sum for each row of eight heads (korthikanti2022, 4.1).
    block = 4 * 2 * 24 * 36 + 2 * 24 * (48 + 24 + 24 + 48) + 2 * 24 * 3 * 52 + 4 * 8 * 24
    head = 2 * 2 * 24 * 36 + 4 * 24 * 88  # inputs of norm and logits, fp32 softmax
    assert read[0]["bytes of activations"] == 8 * 2 * block
    assert read[1]["bytes of activations"] == 8 * 2 * block + 2 * head
