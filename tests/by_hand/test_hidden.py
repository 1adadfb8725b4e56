"""What runs beside compute, by hand: what hides it, what is left of it, and what it takes from it.

A device does 1 FLOP/s, so its seconds are the FLOP of the network of `networks`; `wire` and `pcie`
are bytes/s. One sample passes at a time.
"""

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.by_hand import meters
from tests.by_hand.clock import timed

from foretrain.plan.plan import ContextExchange, Offload, Plan, Recompute, Schedule, Sharding
from foretrain.step.rates import CALLS
from foretrain.step.simulated_passes import closed_form
from foretrain.trainers.software import Software

# Products with weights of a block: queries, keys and values; back; two branches and back.
PRODUCTS = 36 * (48 + 24 + 24) + 48 * 36 + 3 * 36 * 52
CORE = 2 * (24 * 24 / 2) * (48 + 48)  # scores and context of the causal half (dao2022)
LOGITS = 36 * 88

# Embedding, block, head. Forward: 2 FLOP for each weight and token. Backward: twice
# (chowdhery2022, appendix B); the fused core 5 products for 2 (dao2022, algorithm 4).
FORWARD = (0, 2 * 24 * PRODUCTS + CORE, 2 * 24 * LOGITS)
BACKWARD = (0, 4 * 24 * PRODUCTS + 2.5 * CORE, 4 * 24 * LOGITS)
LAYERS = (1, 2, 1)

PARAMETERS = (88 * 36, PRODUCTS + 2 * 36, LOGITS + 36)
EVERY = 88 * 36 + 2 * (PRODUCTS + 2 * 36) + LOGITS + 36

# Of four shards three come from others: weights of 2 bytes, gradients of 4 (rajbhandari2020, 5).
GATHERED = tuple(3 / 4 * 2 * each for each in PARAMETERS)
REDUCED = tuple(3 / 4 * 4 * each for each in PARAMETERS)

SHARDED = Plan(data=4, sharding=Sharding.PARAMETERS)
SHARE, SLOWED = 0.75, 0.25
KNOWN = {"overlap.gradients": SHARE, "overlap.contention": SLOWED}


@pytest.fixture(autouse=True)
def _whole_products(monkeypatch):
    meters.with_whole_products(monkeypatch)


def felt(exchange, compute):
    """Seconds that a pass feels of an exchange of which a share may run beside compute.

    The rest of it; what lasts longer than the compute; and for what does not, what compute beside
    it loses to it: rashidi2021, section 3 (contention for processors and memory).
    """
    beside = SHARE * exchange
    return (exchange - beside) + max(beside - compute, 0) + SLOWED * min(beside, compute)


def saved(exchange, compute):
    """What a pass saves by an exchange beside compute."""
    return exchange - felt(exchange, compute)


def host(kernel):
    """One that takes so long for every operator, and for every further kernel of one."""
    return {"host.launch": kernel / CALLS, "host.kernel": kernel}


def meet(device, host):
    """A pass for which one of two queues is ready so late, and the other so late."""
    return (device**4 + host**4) ** 0.25


def of_layers(values):
    return sum(many * each for many, each in zip(LAYERS, values, strict=True))


# ---- Sharded parameters and gradients -----------------------------------------------------------


@pytest.mark.parametrize("wire", [1.0, 0.03, 0.001], ids=["hidden", "some hidden", "little hidden"])
def test_gathering_of_a_layer_hides_behind_a_pass_and_slows_what_hides_it(wire):
    (found,) = timed(SHARDED, wire=wire, coefficients=KNOWN).stages
    there = of_layers(felt(b / wire, f) for b, f in zip(GATHERED, FORWARD, strict=True))
    assert found.forward == pytest.approx(of_layers(FORWARD) + there, rel=1e-12)
    # Backward it is gathered again, and its gradients are reduced, on the same links.
    both = [again + sums for again, sums in zip(GATHERED, REDUCED, strict=True)]
    back = of_layers(felt(b / wire, f) for b, f in zip(both, BACKWARD, strict=True))
    assert found.backward == pytest.approx(of_layers(BACKWARD) + back, rel=1e-12)


def test_kept_parameters_are_gathered_once_and_reduced_in_every_pass():
    wire = 0.03
    plan = Plan(data=4, sharding=Sharding.PARAMETERS, reshard=False)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN).stages
    assert found.forward == pytest.approx(of_layers(FORWARD), rel=1e-12)
    back = of_layers(felt(b / wire, f) for b, f in zip(REDUCED, BACKWARD, strict=True))
    assert found.backward == pytest.approx(of_layers(BACKWARD) + back, rel=1e-12)


@pytest.mark.parametrize("wire", [1.0, 0.03, 0.001])
def test_first_pass_of_a_step_hides_what_it_can_of_kept_parameters_but_never_a_layer(wire):
    """Four layers, of which the mean one comes before anything could hide it (zhao2023, 3.3)."""
    plan = Plan(data=4, sharding=Sharding.PARAMETERS, reshard=False)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN).stages
    all_of_it = 3 / 4 * 2 * EVERY / wire
    left = (1 - SHARE) * all_of_it + max(SHARE * all_of_it - of_layers(FORWARD), 0)
    last = of_layers(saved(b / wire, f) for b, f in zip(REDUCED, BACKWARD, strict=True)) / 4
    expected = max(all_of_it / 4, left) + last
    assert found.parameters == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("wire", [1.0, 0.03, 0.001], ids=["hidden", "some hidden", "little hidden"])
def test_first_and_last_layer_have_nothing_beside_them(wire):
    """What passes save of the mean layer of four: weights in, gradients out (zhao2023, 3.3).

    Backward, gradients have their share of the bytes, and so of what is saved.
    """
    (found,) = timed(SHARDED, wire=wire, coefficients=KNOWN).stages
    first = of_layers(saved(b / wire, f) for b, f in zip(GATHERED, FORWARD, strict=True)) / 4
    both = [again + sums for again, sums in zip(GATHERED, REDUCED, strict=True)]
    last = of_layers(saved(b / wire, f) for b, f in zip(both, BACKWARD, strict=True)) * 4 / 6 / 4
    assert found.parameters == pytest.approx(first + last, rel=1e-12)


KERNEL = 200_000.0


def test_passes_that_wait_for_their_host_save_nothing_that_is_felt_once():
    """Kernels as in the tests of the host below: passes last as long whatever else hides."""
    (alone,) = timed(SHARDED, wire=1.0, coefficients=KNOWN).stages
    (found,) = timed(SHARDED, wire=1.0, coefficients=KNOWN | host(KERNEL)).stages
    kernels = (3 + 2 * 11 + 6) * KERNEL
    assert found.forward == pytest.approx(meet(alone.forward, kernels), rel=1e-12)
    assert found.parameters < 0.1 * alone.parameters


def test_layers_that_wait_for_activations_on_the_host_save_nothing_that_is_felt_once():
    """Only the head is not offloaded: rajbhandari2021, section 5.2.3."""
    plan, pcie = replace(SHARDED, offload=Offload.ACTIVATIONS), 0.01
    (found,) = timed(plan, wire=1.0, pcie=pcie, coefficients=KNOWN).stages
    assert KEPT / pcie > BACKWARD[1] + GATHERED[1] + REDUCED[1]
    both = GATHERED[2] + REDUCED[2]
    head = saved(GATHERED[2], FORWARD[2]) + saved(both, BACKWARD[2]) * 4 / 6
    assert found.parameters == pytest.approx(head / 4, rel=1e-12)


@pytest.mark.parametrize("kernel", [1.0, KERNEL], ids=["device's pace", "host's pace"])
@pytest.mark.parametrize("wire", [1.0, 0.03])
@pytest.mark.parametrize("reshard", [True, False])
def test_step_takes_no_longer_where_more_may_hide(kernel, wire, reshard):
    plan = replace(SHARDED, reshard=reshard)
    known = {"host.launch": kernel, "host.kernel": kernel}
    steps = [
        closed_form(timed(plan, wire=wire, coefficients=known | {"overlap.gradients": share / 4}))
        for share in range(5)
    ]
    assert all(more <= less * (1 + 1e-12) for less, more in pairwise(steps))


def test_layers_computed_again_hide_more():
    """chen2016: blocks are computed again in the backward pass, beside which gathering hides."""
    wire = 0.03
    plan = Plan(data=4, sharding=Sharding.PARAMETERS, recompute=Recompute.FULL)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN).stages
    backward = (0, BACKWARD[1] + FORWARD[1], BACKWARD[2])
    both = [again + sums for again, sums in zip(GATHERED, REDUCED, strict=True)]
    back = of_layers(felt(b / wire, f) for b, f in zip(both, backward, strict=True))
    assert found.backward == pytest.approx(of_layers(backward) + back, rel=1e-12)


@pytest.mark.parametrize("wire", [1.0, 0.01], ids=["hidden but for a bucket", "most left"])
def test_gradients_of_replicas_leave_beside_the_last_backward_pass(wire):
    """rajbhandari2020, section 2.1: 2 x 3/4 of 4 bytes. Ready in four layers, evenly (li2020).

    The first of four leaves when a quarter of the pass is done, the last after it.
    """
    step = timed(Plan(data=4), wire=wire, coefficients={"overlap.gradients": SHARE})
    all_of_it = 2 * 3 / 4 * 4 * EVERY / wire
    beside, backward = SHARE * all_of_it, of_layers(BACKWARD)
    left = max(beside - 3 / 4 * backward, beside / 4)
    assert step.stages[0].gradients == pytest.approx(all_of_it, rel=1e-12)
    assert step.overlap == SHARE
    assert closed_form(step) == pytest.approx(
        4 * (of_layers(FORWARD) + backward) + left + (all_of_it - beside), rel=1e-12
    )


def test_gradients_that_wait_for_the_last_pass_have_nothing_beside_them():
    software = Software(late=True)
    step = timed(Plan(data=4), wire=1.0, coefficients=KNOWN, software=software)
    expected = 4 * (of_layers(FORWARD) + of_layers(BACKWARD)) + 2 * 3 / 4 * 4 * EVERY
    assert closed_form(step) == pytest.approx(expected, rel=1e-12)


# ---- Tokens of a sample on several devices: liu2023, section 3 ----------------------------------

ROUND = 2 * 24 * (24 + 24) / 2  # bytes: keys and values of 2 bytes, of which half come from another


@pytest.mark.parametrize("wire", [1.0, 0.03, 0.01], ids=["hidden", "forward left", "both left"])
def test_attention_alone_hides_the_keys_that_come_round(wire):
    (found,) = timed(Plan(context=2), wire=wire).stages
    there = max(ROUND / wire - CORE / 2, 0)
    back = max(2 * ROUND / wire - 2.5 * CORE / 2, 0)  # keys again, and their gradients
    assert found.forward == pytest.approx(of_layers(FORWARD) / 2 + 2 * there, rel=1e-12)
    assert found.backward == pytest.approx(of_layers(BACKWARD) / 2 + 2 * back, rel=1e-12)


def test_what_attention_hides_of_keys_hides_no_weights():
    """Two replicas of two members share every parameter; each computes half of a sample."""
    wire = 0.05
    plan = Plan(data=2, context=2, sharding=Sharding.PARAMETERS)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN).stages
    keys = ROUND / wire
    assert 0 < keys < CORE / 2, "attention hides the whole exchange"
    spare = (0, FORWARD[1] / 2 - keys, FORWARD[2] / 2)
    there = of_layers(felt(b / wire, f) for b, f in zip(GATHERED, spare, strict=True))
    assert found.forward == pytest.approx(of_layers(FORWARD) / 2 + there, rel=1e-12)
    spare = (0, BACKWARD[1] / 2 - 2 * keys, BACKWARD[2] / 2)
    both = [again + sums for again, sums in zip(GATHERED, REDUCED, strict=True)]
    back = of_layers(felt(b / wire, f) for b, f in zip(both, spare, strict=True))
    assert found.backward == pytest.approx(of_layers(BACKWARD) / 2 + back, rel=1e-12)


def test_keys_that_come_round_again_take_of_what_computing_again_gives():
    wire = 0.05
    plan = Plan(data=2, context=2, sharding=Sharding.PARAMETERS, recompute=Recompute.FULL)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN).stages
    backward = (0, (BACKWARD[1] + FORWARD[1]) / 2, BACKWARD[2] / 2)
    spare = (0, backward[1] - 3 * ROUND / wire, backward[2])
    both = [again + sums for again, sums in zip(GATHERED, REDUCED, strict=True)]
    back = of_layers(felt(b / wire, f) for b, f in zip(both, spare, strict=True))
    assert found.backward == pytest.approx(of_layers(backward) + back, rel=1e-12)


def test_nothing_hides_tokens_that_are_exchanged_for_heads():
    """jacobs2023, section 3: half of queries, keys, values and outputs of a member's half."""
    plan = Plan(context=2, exchange=ContextExchange.ALL_TO_ALL)
    (found,) = timed(plan, wire=0.01).stages
    swapped = 2 * 24 * (48 + 24 + 24 + 48) / 2 / 2 / 0.01
    assert found.forward == pytest.approx(of_layers(FORWARD) / 2 + 2 * swapped, rel=1e-12)
    assert found.backward == pytest.approx(of_layers(BACKWARD) / 2 + 2 * swapped, rel=1e-12)


# ---- Products on several devices: korthikanti2022, section 4.2; transformer-engine --------------

SUMMED = 2 * 24 * 36 * 2 * 1 / 2  # bytes of a reduce-scatter and an all-gather of two members


@pytest.mark.parametrize("wire", [0.1, 0.001], ids=["a share hidden", "all compute hides some"])
def test_share_of_divided_tokens_is_exchanged_beside_the_products(wire):
    plan = Plan(tensor=2, sequence_parallel=True)
    (found,) = timed(plan, wire=wire, coefficients={"overlap.tensor": 0.5}).stages
    # Forward: two of a block, one of the embedding, which computes nothing; backward: two, and one
    # of the head. The core is no product.
    block, embedding = 2 * SUMMED / wire, SUMMED / wire
    there = block - min(0.5 * block, 2 * 24 * PRODUCTS / 2)
    expected = of_layers(FORWARD) / 2 + embedding + 2 * there
    assert found.forward == pytest.approx(expected, rel=1e-12)
    back = block - min(0.5 * block, 4 * 24 * PRODUCTS / 2)
    head = SUMMED / wire - min(0.5 * SUMMED / wire, BACKWARD[2] / 2)
    expected = of_layers(BACKWARD) / 2 + 2 * back + head
    assert found.backward == pytest.approx(expected, rel=1e-12)


def test_whole_tokens_are_exchanged_after_the_products():
    (found,) = timed(Plan(tensor=2), wire=0.1, coefficients={"overlap.tensor": 0.5}).stages
    expected = of_layers(FORWARD) / 2 + (2 * 2 + 1) * SUMMED / 0.1
    assert found.forward == pytest.approx(expected, rel=1e-12)


def test_products_hide_tokens_or_weights_but_not_both():
    """Members of the tensor axis hold half of each product; norms are whole on both."""
    wire = 0.02
    plan = Plan(data=4, tensor=2, sequence_parallel=True, sharding=Sharding.PARAMETERS)
    (found,) = timed(plan, wire=wire, coefficients=KNOWN | {"overlap.tensor": 0.5}).stages
    hidden = 0.5 * 2 * SUMMED / wire
    assert hidden < 2 * 24 * PRODUCTS / 2, "products hide the whole share"
    weights = tuple(3 / 4 * 2 * each for each in (88 * 18, PRODUCTS / 2 + 72, LOGITS / 2 + 36))
    assert SHARE * weights[1] / wire > FORWARD[1] / 2 - hidden, "and too little is left for weights"
    spare = (0, FORWARD[1] / 2 - hidden, FORWARD[2] / 2)
    there = of_layers(felt(b / wire, f) for b, f in zip(weights, spare, strict=True))
    seen = SUMMED / wire + 2 * hidden  # of the embedding, and the other half of two blocks'
    assert found.forward == pytest.approx(of_layers(FORWARD) / 2 + seen + there, rel=1e-12)


# ---- Experts on several devices: deepseek2024v3, sections 3.2.1 and 3.2.2 -----------------------


@pytest.mark.parametrize("wire", [0.1, 0.001], ids=["a share hidden", "all compute hides some"])
def test_share_of_tokens_is_sent_to_experts_beside_the_layer(wire):
    plan = Plan(data=4, expert=4)
    (found,) = timed(plan, routed=True, wire=wire, coefficients={"overlap.experts": 0.5}).stages
    # Router and shared expert on 24 tokens; two experts of each, 5/4 of the mean on the busiest.
    attention = 36 * (48 + 24 + 24) + 48 * 36
    shared, router, each = 3 * 36 * 28, 36 * 4, 3 * 36 * 20
    products = attention + shared + router + 2 * 1.25 * each
    block = 2 * 24 * products + CORE
    # A token's two experts are on 4 (1 - (3/4)^2) = 7/4 members, of which a quarter is itself.
    sent = 2 * 24 * 36 * 1.25 * 7 / 4 * 3 / 4 / wire
    there = 2 * sent - min(0.5 * 2 * sent, 2 * 24 * products)
    expected = 2 * (block + there) + FORWARD[2]
    assert found.forward == pytest.approx(expected, rel=1e-12)


def test_compute_hides_tensors_tokens_before_those_of_experts():
    """Members of both axes: what the first hides, the second cannot."""
    wire, known = 0.002, {"overlap.tensor": 0.5, "overlap.experts": 0.5}
    plan = Plan(data=2, tensor=2, expert=4, sequence_parallel=True)
    (found,) = timed(plan, routed=True, wire=wire, coefficients=known).stages
    attention = (36 * (48 + 24 + 24) + 48 * 36) / 2
    # Half of the tokens choose; half of the features of the shared expert; four members send.
    products = attention + 3 * 36 * 28 / 2 + 36 * 4 / 2 + 2 * 1.25 * 3 * 36 * 20 / 2
    spare = 2 * 24 * products
    summed = 2 * SUMMED / wire
    sent = 2 * 2 * (24 / 2) * 36 * 1.25 * 7 / 4 * 3 / 4 / wire
    first = min(0.5 * summed, spare)
    second = min(0.5 * sent, spare - first)
    assert second < 0.5 * sent, "what is spare runs out"
    block = spare + CORE / 2 + summed - first + sent - second
    expected = 2 * block + FORWARD[2] / 2 + SUMMED / wire
    assert found.forward == pytest.approx(expected, rel=1e-12)


# ---- The host -----------------------------------------------------------------------------------

# Bytes that a block keeps (korthikanti2022, section 4.1, gated and without dropout): inputs of two
# norms and of two products; queries, keys, values, outputs; branches; 4 for each row of 8 heads.
KEPT = 4 * 2 * 24 * 36 + 2 * 24 * (48 + 24 + 24 + 48) + 2 * 24 * 3 * 52 + 4 * 8 * 24


@pytest.mark.parametrize("pcie", [1.0, 0.05, 0.01], ids=["hidden", "forward left", "both left"])
def test_activations_leave_and_come_back_beside_the_block(pcie):
    """rajbhandari2021, section 5.2.3: what a pass does not hide it waits for."""
    (found,) = timed(Plan(offload=Offload.ACTIVATIONS), pcie=pcie).stages
    forward = 2 * max(FORWARD[1], KEPT / pcie) + FORWARD[2]
    backward = 2 * max(BACKWARD[1], KEPT / pcie) + BACKWARD[2]
    assert found.forward == pytest.approx(forward, rel=1e-12)
    assert found.backward == pytest.approx(backward, rel=1e-12)


@pytest.mark.parametrize("pcie", [1.0, 0.03, 0.01])
def test_gradients_leave_beside_the_backward_pass_of_their_layer(pcie):
    """ren2021, section 4.1: 4 bytes each, the other way than what comes back."""
    for offload, back in ((Offload.OPTIMIZER, (0, 0, 0)), (Offload.BOTH, (0, KEPT, 0))):
        (found,) = timed(Plan(offload=offload), pcie=pcie).stages
        sent = [max(4 * own, come) / pcie for own, come in zip(PARAMETERS, back, strict=True)]
        expected = of_layers(max(b, s) for b, s in zip(BACKWARD, sent, strict=True))
        assert found.backward == pytest.approx(expected, rel=1e-12)


def test_host_that_starts_kernels_slowly_sets_the_pace():
    """Kernels: three of the lookup and what hands a batch over; eleven of a block; norm, logits,
    four of the loss. Backward one more for each product with weights, of which a block has four
    and the head one."""
    there, back = 3 + 2 * 11 + 6, 3 + 2 * (11 + 4) + 6 + 1
    for kernel in (1000.0, 200_000.0):
        (found,) = timed(Plan(), coefficients=host(kernel)).stages
        forward, backward = of_layers(FORWARD), of_layers(BACKWARD)
        assert found.forward == pytest.approx(meet(forward, there * kernel), rel=1e-12)
        assert found.backward == pytest.approx(meet(backward, back * kernel), rel=1e-12)
    assert there * kernel > forward


def test_operator_is_called_once_and_further_kernels_are_started_from_compiled_code():
    """Gradients of both factors of a product are one call on the way back (paszke2019)."""
    waits = {"host.launch": 7.0 / CALLS, "host.kernel": 1.0}
    (found,) = timed(Plan(), flop=meters.QUICK, coefficients=waits).stages
    assert found.forward == pytest.approx((3 + 2 * 11 + 6) * 7.0, rel=1e-12)
    assert found.backward == pytest.approx((3 + 2 * 11 + 6) * 7.0 + 2 * 4 + 1, rel=1e-12)


def test_layer_that_is_computed_again_keeps_and_restores_random_states():
    """Of two blocks the whole forward pass, and what a checkpoint takes beside it (chen2016)."""
    waits = {"host.launch": 7.0 / CALLS, "host.checkpoint": 100.0}
    plans = Plan(), Plan(recompute=Recompute.FULL)
    plain, again = (timed(plan, flop=meters.QUICK, coefficients=waits).stages[0] for plan in plans)
    assert again.backward - plain.backward == pytest.approx(2 * (11 * 7.0 + 100.0), rel=1e-12)


def test_every_exchange_of_a_layer_is_called_by_the_host():
    """Of two blocks two all-reduces in each pass (shoeybi2019, figure 4), of lookup and logits."""
    plans = Plan(tensor=2), Plan(tensor=2, recompute=Recompute.FULL)
    waits = {"host.exchange": 5.0}
    plain, again = (timed(plan, flop=meters.QUICK, coefficients=waits).stages[0] for plan in plans)
    ends = plain.forward - 2 * 2 * 5.0
    assert ends % 5.0 == 0.0
    assert ends <= 3 * 5.0
    assert again.backward - plain.backward == pytest.approx(2 * 2 * 5.0, rel=1e-12)


@pytest.mark.parametrize("kernel", [1.0, 70_000.0, 200_000.0])
def test_zero_bubble_puts_off_what_no_other_stage_waits_for(kernel):
    """qi2023, section 2: gradients of weights wait, those of inputs do not.

    The last stage hands on when both its device and its host are done with gradients of inputs.
    """
    plan = Plan(pipeline=2, schedule=Schedule.ZERO_BUBBLE)
    found = timed(plan, coefficients=host(kernel)).stages[1]
    weights = 2 * 24 * PRODUCTS + 2 * 24 * LOGITS
    inputs = BACKWARD[1] + BACKWARD[2] - weights
    whole = meet(inputs + weights, (11 + 4 + 6 + 1) * kernel)
    handed_on = meet(inputs, (11 + 6) * kernel)
    assert found.backward == pytest.approx(whole, rel=1e-12)
    assert found.weights == pytest.approx(whole - handed_on, rel=1e-12)
