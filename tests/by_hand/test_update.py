"""What comes after the passes, by hand: tied tables, gathered parameters, calls of an update."""

from dataclasses import replace

import pytest
from tests.by_hand import meters
from tests.by_hand.clock import known, priced, seconds, timed
from tests.by_hand.networks import network
from tests.by_hand.written import PRODUCTS, WHOLE

from foretrain.plan.plan import Plan, Sharding
from foretrain.step.rates import CALLS
from foretrain.step.step import step_times
from foretrain.trainers.software import Execution, Software, Update
from foretrain.workload.parts.language_model import Decoder, decoder
from foretrain.workload.workload import Optimizer, Workload

TABLE = 88 * 36
TIED = Decoder(layers=2, hidden=36, feed_forward=52, heads=6, kv_heads=6, vocabulary=88, tied=True)


@pytest.fixture(autouse=True)
def _whole_products(monkeypatch):
    meters.with_whole_products(monkeypatch)


# ---- Tied tables --------------------------------------------------------------------------------


def ends(plan, *, tied, latency=0.0):
    """What both ends of a pipeline do after their updates, on a wire of a byte a second."""
    model = decoder("by hand", replace(TIED, tied=tied), sequence=24)
    workload = Workload(model=model, global_batch=16)
    asked = known(plan, workload, wire=1.0)
    if latency:
        level = asked.cluster.levels[0]
        link = replace(level.link, latency=latency)
        cluster = replace(asked.cluster, levels=(replace(level, link=link),))
        asked = meters.setting(workload, cluster, meters.IDEAL)
    return [stage.parameters for stage in step_times(asked, priced(asked, plan)).stages]


def test_both_ends_of_a_pipeline_add_up_gradients_of_a_table_that_they_share():
    """megatron-core, finalize_model_grads.py: an all-reduce in fp32 of both ends,
    of two members (patarasuk2009, equation 4: 2 x 1/2 of the bytes), none between them."""
    assert ends(Plan(pipeline=2), tied=True) == [pytest.approx(4 * TABLE)] * 2
    assert ends(Plan(pipeline=2), tied=False) == [0, 0]
    assert ends(Plan(), tied=True) == [0]
    # shoeybi2019, section 3: each of two members of a tensor axis has half of the rows.
    assert ends(Plan(tensor=2, pipeline=2), tied=True) == [pytest.approx(4 * TABLE / 2)] * 2


def test_a_sum_of_two_takes_two_hops():
    quick = ends(Plan(pipeline=2), tied=True)[0]
    assert ends(Plan(pipeline=2), tied=True, latency=3.0)[0] - quick == pytest.approx(2 * 3.0)


def test_a_table_of_both_ends_counts_as_gradients():
    plan = Plan(pipeline=2)
    model = decoder("by hand", TIED, sequence=24)
    asked = known(plan, Workload(model=model, global_batch=16), wire=1.0)
    columns = meters.step(asked, priced(asked, plan))
    assert float(columns.gradients[0]) == pytest.approx(4 * TABLE)
    assert float(columns.parameters[0]) == pytest.approx(0, abs=1e-6)


# ---- Parameters that are gathered after an update -----------------------------------------------


def test_updated_parameters_come_beside_the_next_pass_but_for_its_first_layer():
    """rajbhandari2020, section 5: 3/4 of two bytes each; megatron-core, --overlap-param-gather: all
    but the mean of four layers hide behind a pass that computes for long."""
    plan = Plan(data=4, sharding=Sharding.OPTIMIZER)
    hidden = {"coefficients": {"overlap.gradients": 1.0}, "wire": 1.0}
    gathered = 3 / 4 * 2 * WHOLE
    (before,) = timed(plan, **hidden).stages
    (beside,) = timed(plan, software=Software(gathers_beside=True), **hidden).stages
    assert before.parameters == pytest.approx(gathered)
    assert beside.parameters == pytest.approx(gathered / 4)
    # Where a pass hides nothing, they take what they take.
    (idle,) = timed(
        plan, software=Software(gathers_beside=True), wire=1.0, flop=meters.QUICK
    ).stages
    assert idle.parameters == pytest.approx(gathered)


# ---- Calls --------------------------------------------------------------------------------------

TENSORS = 2 + 2 * (4 + 2 * 2) + (2 + 1)  # lookup; products and norms of two blocks; norm, logits
WAITS = {"host.launch": 4.0, "host.exchange": 10.0}


@pytest.mark.parametrize(
    ("update", "calls"),
    [
        (Update.EACH, TENSORS * (2 + 9)),  # loshchilov2019, algorithm 2, and clipping
        # Eight more from compiled code, 0.4 of a call each instead of 0.75.
        (Update.SCRIPTED, TENSORS * (2 + 1 + 8 * 0.4 / 0.75)),
        (Update.FOREACH, 2 + 9),  # 21 tensors are one list (pytorch, MultiTensorApply.cuh)
        (Update.FUSED, 2 + 1),
        (None, 0),
    ],
)
def test_update_takes_the_calls_of_a_host_that_has_waited_for_the_norm(update, calls):
    """Three quarters of a call each; one whole call before, and an exchange with others."""
    for devices in (1, 2):
        found = {}
        for waits in (False, True):
            software = Software(update=update, norm_wait=waits)
            (stage,) = timed(Plan(data=devices), software=software, coefficients=WAITS).stages
            found[waits] = stage.update
        waited = 4.0 + 10.0 * (devices > 1)
        assert found[True] - found[False] == pytest.approx(waited + calls * 0.75 * 4.0)


def test_other_optimizers_call_other_operations():
    workload = replace(network(), optimizer=Optimizer.MOMENTUM)
    software = Software(update=Update.EACH, norm_wait=True)
    asked = known(Plan(), workload, coefficients={"host.launch": 4.0}, software=software)
    (stage,) = step_times(asked, priced(asked, Plan())).stages
    assert stage.update == pytest.approx(4.0 + TENSORS * (2 + 3) * 0.75 * 4.0)


def test_an_update_in_one_kernel_moves_what_it_must_in_software_that_fuses_nothing_else():
    """Adam: gradient read twice and cleared, 12 read and written of state, 2 written (38 bytes)."""
    moves = {"coefficients": {"traffic.eager": 3.0}, "traffic": 1.0, "flop": meters.QUICK}
    apart = Software(execution=Execution.EAGER)
    (several,) = timed(Plan(), software=apart, **moves).stages
    (one,) = timed(Plan(), software=replace(apart, update=Update.FUSED), **moves).stages
    assert one.update == pytest.approx(38 * WHOLE)
    assert several.update == pytest.approx((8 + 3 * 30) * WHOLE)


# ---- Gradients of weights -----------------------------------------------------------------------

APART = Software(adds_apart=True)


def test_gradients_of_weights_that_are_added_apart_are_written_and_read_once_more():
    """narayanan2021's code: a product writes 2 bytes, a hook reads them and adds to 4 of fp32."""
    moves = {"traffic": 1.0, "flop": meters.QUICK}
    (within,) = timed(Plan(), **moves).stages
    (apart,) = timed(Plan(), software=APART, **moves).stages
    products = 2 * PRODUCTS + TABLE
    assert apart.forward == within.forward
    assert apart.backward - within.backward == pytest.approx((2 + 2) * products)


def test_gradients_of_weights_that_are_added_apart_are_a_call_and_a_kernel_each():
    (within,) = timed(Plan(), flop=meters.QUICK, coefficients={"host.gap": 1.0}).stages
    (apart,) = timed(
        Plan(), software=APART, flop=meters.QUICK, coefficients={"host.gap": 1.0}
    ).stages
    assert apart.backward - within.backward == pytest.approx(2 * 4 + 1)
    calls = {"flop": meters.QUICK, "coefficients": {"host.launch": 7.0 / CALLS}}
    (within,) = timed(Plan(), **calls).stages
    (apart,) = timed(Plan(), software=APART, **calls).stages
    assert apart.backward - within.backward == pytest.approx(TENSORS * 7.0 / CALLS)


def test_experts_have_a_call_for_each_of_their_products():
    """Four experts of two products on one device, of two blocks; half of them on each of two."""
    calls = {"flop": meters.QUICK, "routed": True, "coefficients": {"host.launch": 7.0}}
    found = []
    for plan in (Plan(), Plan(data=2, expert=2)):
        (within,) = timed(plan, software=Software(grouped=False), **calls).stages
        (apart,) = timed(plan, software=replace(APART, grouped=False), **calls).stages
        found.append((apart.backward - within.backward) / 7.0)
    assert found[0] - found[1] == pytest.approx(2 * 2 * (4 - 2))


# ---- Parts --------------------------------------------------------------------------------------


def test_parts_of_a_step_add_up_with_all_of_these():
    software = Software(gathers_beside=True, norm_wait=True, update=Update.EACH, adds_apart=True)
    plan = Plan(data=2, pipeline=2, sharding=Sharding.OPTIMIZER)
    step, parts = seconds(plan, software=software, coefficients=WAITS, wire=0.5, traffic=2.0)
    assert sum(parts.values()) == pytest.approx(step, rel=1e-12)
