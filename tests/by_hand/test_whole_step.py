"""Whole steps by hand: sixteen micro-batches of one sample through one or two stages.

A device does 1 FLOP/s and a message takes as long as its bytes say, so that seconds are what the
papers' diagrams of a schedule show.
"""

import pytest
from tests.by_hand import meters
from tests.by_hand.clock import seconds, timed

from foretrain.plan.plan import Plan, Recompute, Schedule, Sends, Sharding

# Of a block, 2 FLOP for each weight and token, and the causal half of the core (dao2022);
# backward twice (chowdhery2022, appendix B), the core 5 products for 2.
WEIGHTS = 2 * 24 * (36 * (48 + 24 + 24) + 48 * 36 + 3 * 36 * 52)
CORE = 2 * (24 * 24 / 2) * (48 + 48)
FORWARD, BACKWARD = WEIGHTS + CORE, 2 * WEIGHTS + 2.5 * CORE
HEAD = 2 * 24 * 36 * 88
LAST = FORWARD + HEAD + BACKWARD + 2 * HEAD  # both passes of a block and the head

WIRE = 0.1
SEND = 2 * 24 * 36 / WIRE  # narayanan2021, section 4.1: all values between two layers


@pytest.fixture(autouse=True)
def _whole_products(monkeypatch):
    meters.with_whole_products(monkeypatch)


def asked(plan, **changes):
    return seconds(plan, **({"wire": WIRE} | changes))


def adds_up(parts, total):
    assert sum(parts.values()) == pytest.approx(total, rel=1e-12)
    assert parts["other"] == pytest.approx(0.0, abs=1e-9 * total)


def test_single_device_does_one_micro_batch_after_the_other():
    total, parts = asked(Plan())
    assert total == pytest.approx(16 * (2 * (FORWARD + BACKWARD) + 3 * HEAD), rel=1e-12)
    assert parts["forward"] == pytest.approx(16 * (2 * FORWARD + HEAD), rel=1e-12)
    assert parts["backward"] == pytest.approx(16 * (2 * BACKWARD + 2 * HEAD), rel=1e-12)
    adds_up(parts, total)


def test_recomputed_blocks_are_a_part_of_their_own():
    total, parts = asked(Plan(recompute=Recompute.FULL))
    assert total == pytest.approx(16 * (4 * FORWARD + 2 * BACKWARD + 3 * HEAD), rel=1e-12)
    assert parts["recompute"] == pytest.approx(16 * 2 * FORWARD, rel=1e-12)
    adds_up(parts, total)


def test_two_samples_at_once_are_half_as_many_passes():
    total, _ = asked(Plan(micro_batch=2))
    assert total == pytest.approx(16 * (2 * (FORWARD + BACKWARD) + 3 * HEAD), rel=1e-12)
    assert timed(Plan(micro_batch=2)).micro_batches == 8


def test_one_f_one_b_fills_and_drains_beside_the_busiest_stage():
    """narayanan2021, figure 4: the last stage waits for one forward pass of the first, alternates
    16 times, and one backward pass of the first follows."""
    total, parts = asked(Plan(pipeline=2))
    assert total == pytest.approx(FORWARD + SEND + 16 * LAST + SEND + BACKWARD, rel=1e-12)
    assert parts["bubble"] == pytest.approx(FORWARD + BACKWARD, rel=1e-12)
    assert parts["pipeline"] == pytest.approx(2 * SEND, rel=1e-12)
    assert parts["forward"] == pytest.approx(16 * (FORWARD + HEAD), rel=1e-12)
    adds_up(parts, total)


def test_gpipe_takes_as_long_as_one_f_one_b_where_the_last_stage_never_waits():
    """huang2019, section 2.3: 16 forward passes of the last stage, then 16 backward passes."""
    total, parts = asked(Plan(pipeline=2, schedule=Schedule.GPIPE))
    assert total == pytest.approx(FORWARD + SEND + 16 * LAST + SEND + BACKWARD, rel=1e-12)
    adds_up(parts, total)


def test_zero_bubble_drains_beside_gradients_of_weights():
    """qi2023, section 2.1: the last stage ends with gradients of weights of two micro-batches,
    beside which the first one computes the last gradients that it is handed."""
    total, parts = asked(Plan(pipeline=2, schedule=Schedule.ZERO_BUBBLE))
    first = SEND + BACKWARD - 2 * (WEIGHTS + HEAD)
    assert first < 0, "the first stage is done before the last one"
    assert total == pytest.approx(FORWARD + SEND + 16 * LAST, rel=1e-12)
    adds_up(parts, total)


def test_interleaved_stages_fill_and_drain_by_a_chunk_of_a_layer():
    """narayanan2021, section 2.2: two chunks for each stage, so that the last stage waits for one
    block of four where it would wait for two."""
    plan = Plan(pipeline=2, interleaving=2)
    total, parts = asked(plan, layers=4)
    busiest = 16 * (2 * FORWARD + 2 * BACKWARD + 3 * HEAD)
    assert total == pytest.approx(FORWARD + SEND + busiest + SEND + BACKWARD, rel=1e-12)
    assert parts["bubble"] == pytest.approx(FORWARD + BACKWARD, rel=1e-12)
    adds_up(parts, total)
    plain, _ = asked(Plan(pipeline=2), layers=4)
    assert plain == pytest.approx(2 * (FORWARD + BACKWARD + SEND) + busiest, rel=1e-12)


def test_blocking_stage_stands_still_while_it_sends():
    """narayanan2021, section 4.1 (without overlap): the last stage sends 16 gradients back, and
    the first one's first send comes before."""
    total, _ = asked(Plan(pipeline=2, sends=Sends.BLOCKING))
    assert total == pytest.approx(FORWARD + SEND + 16 * (LAST + SEND) + BACKWARD, rel=1e-12)


@pytest.mark.parametrize(
    ("plan", "parts"),
    [
        (Plan(pipeline=2, tensor=2), 2),
        (Plan(pipeline=2, context=2), 2),
        (Plan(pipeline=2, tensor=2, context=3), 6),
        (Plan(pipeline=2, tensor=2, sequence_parallel=True), 2),
        (Plan(pipeline=2, data=2), 1),
        (Plan(pipeline=2, micro_batch=2), 1 / 2),
    ],
    ids=str,
)
def test_members_of_a_stage_each_send_their_part(plan, parts):
    """narayanan2021, section 4.1 (scatter and gather): 1/t of what is between two layers."""
    assert timed(plan, wire=WIRE).send == pytest.approx(SEND / parts, rel=1e-12)


def test_slowest_of_four_replicas_sets_the_pace_of_all():
    """cramer1946, section 28.6: the largest of n is sqrt(2 log n) deviations above the mean; a
    member of the context axis is a replica too."""
    alone, _ = asked(Plan(), coefficients={"step.spread": 0.01})
    assert alone == pytest.approx(16 * (2 * (FORWARD + BACKWARD) + 3 * HEAD), rel=1e-12)
    slower = 1 + 0.01 * (2 * 1.3862943611198906) ** 0.5  # log 4
    for plan in (Plan(data=4), Plan(data=2, context=2)):
        even, _ = seconds(plan)
        found, _ = seconds(plan, coefficients={"step.spread": 0.01})
        assert found == pytest.approx(even * slower, rel=1e-9)


def test_gradients_and_weights_of_two_layers_follow_the_passes():
    """rajbhandari2020, section 2.1: 2 x 3/4 of 4 bytes for each parameter, after four passes."""
    parameters = 88 * 36 + 2 * (WEIGHTS / 48 + 72) + 88 * 36 + 36
    total, parts = asked(Plan(data=4))
    passes = 4 * (2 * (FORWARD + BACKWARD) + 3 * HEAD)
    reduced = 2 * 3 / 4 * 4 * parameters / WIRE
    assert parts["gradients"] == pytest.approx(reduced, rel=1e-12)
    assert total == pytest.approx(passes + reduced, rel=1e-12)
    adds_up(parts, total)


def test_what_sharded_layers_expose_is_told_apart_by_what_is_exchanged():
    """rajbhandari2020, section 5: weights twice, gradients once. Half of each may hide; of the mean
    of four layers nothing does, once each."""
    parameters = 88 * 36 + 2 * (WEIGHTS / 48 + 72) + 88 * 36 + 36
    wire = 1.0  # so that blocks and head hide all that may hide; the table's lookup hides nothing
    plan = Plan(data=4, sharding=Sharding.PARAMETERS)
    total, parts = seconds(plan, wire=wire, coefficients={"overlap.gradients": 0.5})
    table = 88 * 36
    hidden = 0.5 * (parameters - table)
    exposed = parameters - hidden
    passes = 4  # micro-batches of a replica
    gathered = passes * 2 * 3 / 4 * 2 * exposed + 3 / 4 * 2 * hidden / 4
    reduced = passes * 3 / 4 * 4 * exposed + 3 / 4 * 4 * hidden / 4
    assert parts["parameters"] == pytest.approx(gathered, rel=1e-12)
    assert parts["gradients"] == pytest.approx(reduced, rel=1e-12)
    computed = passes * (2 * (FORWARD + BACKWARD) + 3 * HEAD)
    assert total == pytest.approx(computed + gathered + reduced, rel=1e-12)
    adds_up(parts, total)
