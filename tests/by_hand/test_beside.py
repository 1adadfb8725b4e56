"""What runs beside what, by hand: overlap, contention, attention that hides a ring, the last layer.

A matrix unit does 1 FLOP a second, a link carries a byte a second, so that a block computes for
573,696 s forward, twice as long backward, and hides what it exchanges many times over. The lookup
of the table computes nothing that could hide anything.
"""

import pytest
from tests.by_hand import meters
from tests.by_hand.networks import BUSIEST, network
from tests.by_hand.written import BLOCK, FIRST, WHOLE

from foretrain.plan.plan import ContextExchange, Plan, Sharding
from foretrain.step.setting import setting

TABLE, HEAD = 88 * 36, 88 * 36 + 36
FSDP = Plan(data=4, sharding=Sharding.PARAMETERS)


def busy(monkeypatch, plan, *, routed=False, flop=1.0, **overlap):
    """What one stage takes where both compute and links take time."""
    meters.with_whole_products(monkeypatch)
    here = meters.one_level(plan.devices, wire=1.0, flop=flop)
    values = {f"overlap.{name}": share for name, share in overlap.items()}
    known = setting(network(routed=routed), here, meters.IDEAL.changed(values))
    return meters.measured(known, [plan])[0][0]


def test_half_of_what_a_pass_gathers_hides_where_half_of_it_may(monkeypatch):
    found = busy(monkeypatch, FSDP, gradients=1 / 2)
    # zhao2023, section 3.4.1. The table's gather, twice, hides behind nothing.
    others = 2 * BLOCK + HEAD
    assert found["gathered"] == pytest.approx(2 * 3 / 4 * 2 * (TABLE + others / 2))
    assert found["reduced"] == pytest.approx(3 / 4 * 4 * (TABLE + others / 2))


def test_what_is_hidden_slows_the_compute_beside_it(monkeypatch):
    found = busy(monkeypatch, FSDP, gradients=1.0, contention=1 / 8)
    # rashidi2021, section 3: an eighth of what hides is lost.
    others = 2 * BLOCK + HEAD
    assert found["gathered"] == pytest.approx(2 * 3 / 4 * 2 * (TABLE + others / 8))
    assert found["reduced"] == pytest.approx(3 / 4 * 4 * (TABLE + others / 8))


def test_nothing_is_beside_the_first_gather_and_the_last_reduction(monkeypatch):
    found = busy(monkeypatch, FSDP, gradients=1.0)
    # What the passes hide of one of four layers, their mean, each: zhao2023, section 3.3.2. Of the
    # table they hide nothing, so that all of it is felt already.
    assert found["parameters"] == pytest.approx(3 / 4 * (2 + 4) * (2 * BLOCK + HEAD) / 4)


def test_gather_that_is_kept_hides_behind_the_first_pass_but_for_its_first_layer(monkeypatch):
    kept = Plan(data=4, sharding=Sharding.PARAMETERS, reshard=False)
    found = busy(monkeypatch, kept, gradients=1.0)
    # Weights of the mean layer, whole, for they come once; of gradients what other passes hide.
    last = 3 / 4 * 4 * (2 * BLOCK + HEAD) / 4
    assert found["parameters"] == pytest.approx(3 / 4 * 2 * WHOLE / 4 + last)


def test_quarter_of_the_tensor_axis_sums_hides_beside_products(monkeypatch):
    # The table's lookup has no product; ten sums in all: table, four in each block, logits.
    found = busy(monkeypatch, Plan(tensor=2, sequence_parallel=True), tensor=1 / 4)
    assert found["tensor"] == pytest.approx((1 + (2 * 4 + 1) * 3 / 4) * 2 * 24 * 36)


def test_quarter_of_what_experts_exchange_hides_beside_the_rest(monkeypatch):
    found = busy(monkeypatch, Plan(data=4, expert=4), routed=True, experts=1 / 4)
    # As alone: 1.75 members get a token, 3/4 of them others (deepseek2024v3, section 3.2.2).
    assert found["expert"] == pytest.approx(3 / 4 * 2 * 4 * BUSIEST * 1.75 * 3 / 4 * 2 * 24 * 36)


RING = Plan(context=2, exchange=ContextExchange.RING)


def test_attention_hides_the_ring_and_nothing_else_does(monkeypatch):
    assert busy(monkeypatch, RING)["context"] == pytest.approx(0)
    # At 32 FLOP/s half of the core takes 864 s forward and 2,160 s backward, while keys and values
    # take 1,152 s and 2,304 s (liu2023, section 3).
    found = busy(monkeypatch, RING, flop=32.0)
    core, around = 2 * 24 * 24 * 48 / 2 / 32, 1 / 2 * 2 * 24 * (24 + 24)
    assert (core, around) == (864, 1152)
    assert found["context"] == pytest.approx(2 * ((around - core) + (2 * around - 2.5 * core)))


def test_heads_that_are_exchanged_for_tokens_hide_nowhere(monkeypatch):
    found = busy(monkeypatch, Plan(context=2, exchange=ContextExchange.ALL_TO_ALL))
    assert found["context"] == pytest.approx(2 * 2 * 1 / 2 * 2 * 12 * 144)


def test_attention_that_hid_a_ring_hides_no_gather(monkeypatch):
    # One member of a ring of two, which share one copy: the core of a block hides the ring first.
    shared = Plan(context=2, sharding=Sharding.PARAMETERS)
    flop = 64.0
    found = busy(monkeypatch, shared, flop=flop, gradients=1.0)
    products, core = 2 * 24 * (BLOCK - 72) / 2 / flop, 2 * 24 * 24 * 48 / 2 / flop
    around = 1 / 2 * 2 * 24 * 48
    gather, reduction = 1 / 2 * 2 * BLOCK, 1 / 2 * 4 * BLOCK
    assert core < around  # so that products alone are left
    forward, backward = gather - products, gather + reduction - 2 * products
    logits, head = 2 * 24 * 88 * 36 / 2 / flop, 1 / 2 * 2 * HEAD
    both = [
        2 * forward + head - logits + 1 / 2 * 2 * TABLE,
        2 * backward + 3 * head - 2 * logits + 1 / 2 * 6 * TABLE,
    ]
    assert found["gathered"] + found["reduced"] == pytest.approx(sum(both))


def test_one_stage_reduces_what_it_has(monkeypatch):
    found = busy(monkeypatch, Plan(data=2, pipeline=2), gradients=0.0)
    assert found["gradients"] == pytest.approx(2 * 1 / 2 * 4 * FIRST)
