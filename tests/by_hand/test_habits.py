"""Habits of trainers, forms of values and what a framework holds beside them, by hand."""

from dataclasses import replace

import pytest
from tests.by_hand import meters
from tests.by_hand.clock import known, priced, timed
from tests.by_hand.networks import network

from foretrain.plan.plan import Offload, Plan, Schedule, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import stage_memory
from foretrain.step.step import step_times
from foretrain.trainers.software import Software
from foretrain.workload.gradients import top
from foretrain.workload.parts.language_model import Decoder, decoder
from foretrain.workload.workload import Precision, Workload

PRODUCTS = 36 * (48 + 24 + 24) + 48 * 36 + 3 * 36 * 52  # weights of a block's products
WHOLE = 88 * 36 + 2 * (PRODUCTS + 2 * 36) + 88 * 36 + 36
CORE = 2 * (24 * 24 / 2) * (48 + 48)

# Bytes that a block keeps, and the head (korthikanti2022, sections 4.1 and 4.3).
KEPT = 4 * 2 * 24 * 36 + 2 * 24 * (48 + 24 + 24 + 48) + 2 * 24 * 3 * 52 + 4 * 8 * 24
HEAD_KEPT = 2 * 2 * 24 * 36 + 4 * 24 * 88

EACH = Software(grouped=False)


@pytest.fixture(autouse=True)
def _whole_products(monkeypatch):
    meters.with_whole_products(monkeypatch)


def held(plan, *, software=None, **coefficients):
    """Bytes on a device of a single stage."""
    asked = known(plan, network(), coefficients=coefficients, software=software or Software())
    return stage_memory(asked, hold(asked, table_of([plan])), run=0)


# ---- Experts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("plan", "mine"), [(Plan(), 4), (Plan(data=2, expert=2), 2)], ids=str)
@pytest.mark.parametrize("wait", ["host.kernel", "host.gap"])
def test_expert_with_kernels_of_its_own_has_one_for_each_product(plan, mine, wait):
    """Of a block two products for each expert, and twice as many for the gradients of both factors
    (transformer-engine: grouped products are one kernel instead)."""
    waits = {"coefficients": {wait: 1.0}, "flop": meters.QUICK, "routed": True}
    (together,) = timed(plan, **waits).stages
    (apart,) = timed(plan, software=EACH, **waits).stages
    blocks = 2
    assert apart.forward - together.forward == pytest.approx(blocks * 2 * (mine - 1), rel=1e-12)
    assert apart.backward - together.backward == pytest.approx(blocks * 4 * (mine - 1), rel=1e-12)


def test_copy_for_each_expert_is_sent_to_wherever_it_is():
    """lepikhin2020, section 3.2: both copies of a token leave, to one of four members each; sent
    once to a member (deepseek2024v3, section 3.2.2), 7/4 of them get it."""
    plan, copy = Plan(data=4, expert=4), 1.25 * 2 * 24 * 36
    for once, receivers in ((False, 2), (True, 4 * (1 - (3 / 4) ** 2))):
        (found,) = timed(
            plan, software=Software(once=once), routed=True, wire=1.0, flop=meters.QUICK
        ).stages
        expected = 2 * 2 * copy * receivers * 3 / 4  # two blocks, there and back
        assert found.forward == pytest.approx(expected, rel=1e-12)


# ---- Memory -------------------------------------------------------------------------------------


def test_gradients_that_wait_for_the_last_micro_batch_are_whole():
    """zhao2023, section 3.3.4: accumulation without communication keeps all of a shard's."""
    plan = Plan(data=4, sharding=Sharding.GRADIENTS)
    assert held(plan).gradients[0] == 4 * WHOLE / 4
    assert held(plan, software=Software(waits=True)).gradients[0] == 4 * WHOLE


def test_framework_holds_temporaries_and_what_it_does_not_hand_out():
    coefficients = {
        "memory.temporaries": 0.25,
        "memory.fragmentation": 0.125,
        "memory.reserve": 1000.0,
    }
    found = held(Plan(), **coefficients)
    temporaries = 0.25 * (2 * KEPT + HEAD_KEPT)
    handed_out = 18 * WHOLE + 2 * KEPT + HEAD_KEPT + temporaries  # korthikanti2022, section 4.1
    assert found.buffers[0] == temporaries + 0.125 * handed_out + 1000
    assert found.allocated[0] == handed_out
    assert found.total[0] == 1.125 * handed_out + 1000


# ---- Forms of values ----------------------------------------------------------------------------


def test_messages_that_do_not_add_up_are_decoded_from_every_replica():
    """aji2017, section 3: a hundredth of the gradients, each of 4 bytes with its place of 4; every
    message is read, and its values are read and written where they belong."""
    sent = 0.01 * (4 + 4)
    for replicas in (2, 4):
        workload = replace(network(), gradients=top(0.01))
        plan = Plan(data=replicas)
        asked = known(plan, workload, flop=meters.QUICK, traffic=1.0)
        (found,) = step_times(asked, priced(asked, plan)).stages
        encoded = 4 + 3 * 4 + sent
        decoded = replicas * (sent + 0.01 * 2 * 4)
        adam = 4 + 4 + 4 + 12 + 12 + 2
        assert found.update == pytest.approx((adam + encoded + decoded) * WHOLE, rel=1e-12)


@pytest.mark.parametrize(
    ("recipe", "read", "cast"),
    [
        (Precision.FP8, 1, 2 + 1 + 1),
        (Precision.FP8_CURRENT, 1, 2 + 2 + 1 + 1),  # its scale is sought in it before
        # deepseek2024v3, section 3.3.2: 4 bytes of scale for 128 values.
        (Precision.FP8_BLOCK, 33 / 32, 2 + 2 * 33 / 32),
    ],
)
def test_narrow_products_read_less_and_make_their_factors_narrow_first(recipe, read, cast):
    """transformer-engine: a byte a value where a product reads; 2 read and 1 + 1 written to make
    it narrow for two products, activations forward and their gradients backward. Not the logits."""
    moved = {}
    for precision in (Precision.BF16, recipe):
        asked = known(
            Plan(),
            replace(network(), precision=precision),
            flop=meters.QUICK,
            traffic=1.0,
        )
        (moved[precision],) = step_times(asked, priced(asked, Plan())).stages
    inputs = 24 * (36 + 48 + 36 + 52)
    outputs = 24 * (48 + 24 + 24 + 36 + 2 * 52 + 36)
    wide, narrow = moved[Precision.BF16], moved[recipe]
    less = 2 - read
    forward = -less * (inputs + PRODUCTS) + cast * inputs
    backward = -less * (outputs + PRODUCTS) + cast * outputs - less * (inputs + outputs)
    assert narrow.forward - wide.forward == pytest.approx(2 * forward, rel=1e-12)
    assert narrow.backward - wide.backward == pytest.approx(2 * backward, rel=1e-12)


# ---- One plan's parts ---------------------------------------------------------------------------


def test_gradients_that_leave_for_the_host_hold_up_no_other_stage():
    """qi2023, section 2: the last stage hands on when gradients of inputs are there; those of
    weights follow, and leave for the host beside them (ren2021, section 4.1)."""
    plan = Plan(pipeline=2, schedule=Schedule.ZERO_BUBBLE, offload=Offload.OPTIMIZER)
    pcie = 0.01
    found = timed(plan, pcie=pcie).stages[1]
    backward = (4 * 24 * PRODUCTS + 2.5 * CORE, 4 * 24 * 36 * 88)
    sent = (4 * (PRODUCTS + 2 * 36) / pcie, 4 * (36 * 88 + 36) / pcie)
    whole = sum(max(each) for each in zip(backward, sent, strict=True))
    inputs = 2 * 24 * PRODUCTS + 2.5 * CORE + 2 * 24 * 36 * 88
    assert whole > sum(backward)
    assert found.backward == pytest.approx(whole, rel=1e-12)
    assert found.weights == pytest.approx(whole - inputs, rel=1e-12)


def test_everything_that_takes_time_takes_twice_as_long_at_half_the_pace():
    """One factor for devices, links and hosts: `step.factor`."""
    plan = Plan(data=4, sharding=Sharding.GRADIENTS, offload=Offload.BOTH)
    rates = {"wire": 0.05, "pcie": 0.03, "host": 0.1, "traffic": 0.2}
    waits = {
        "host.launch": 3000.0,
        "host.checkpoint": 900.0,
        "host.gap": 200.0,
        "links.start": 500.0,
    }
    even, slow = (
        timed(plan, coefficients=waits | {"step.factor": factor}, **rates).stages[0]
        for factor in (1.0, 2.0)
    )
    for name in ("forward", "backward", "gradients", "update", "parameters"):
        assert getattr(slow, name) == pytest.approx(2 * getattr(even, name), rel=1e-12), name


def test_tied_table_is_held_once_by_every_member_of_the_tensor_axis():
    """shoeybi2019, section 3: of 88 rows each of two members has half, for lookup and logits."""
    shape = Decoder(
        layers=2, hidden=36, feed_forward=52, heads=6, kv_heads=6, vocabulary=88, gated=True
    )
    found = []
    for tied in (False, True):
        model = decoder("by hand", replace(shape, tied=tied), sequence=24)
        asked = known(Plan(tensor=2), Workload(model=model, global_batch=16))
        found.append(stage_memory(asked, hold(asked, table_of([Plan(tensor=2)])), run=0))
    apart, together = found
    assert apart.weights[0] - together.weights[0] == 2 * 88 * 36 / 2
    assert apart.optimizer[0] - together.optimizer[0] == 12 * 88 * 36 / 2
