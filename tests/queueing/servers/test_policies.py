"""Link policies: a step of two layers on one link of a byte per second, worked out by hand.

Layer 2 has four bytes of parameters and is asked for first; layer 1 has one. The passes through
layer 1 and 2 take 4 and 1 seconds, back through 2 and 1 one second each.
"""

import pytest
from tests.recorded_steps import TWO_LAYERS, carry, compute

from foretrain.distributions import Constant
from foretrain.errors import InputError
from foretrain.measured.scale_study import RecordedStep, StepResource
from foretrain.plan.servers import SYNCHRONOUS, LinkPolicy, Servers, Training, Worker
from foretrain.queueing.servers.simulate import simulate

WINDOW = 2.0


def trained(*, pulled=0.0, pushed=0.0, seconds=0.0):
    worker = Worker(compute=Constant(seconds), samples=1.0, pulled=pulled, pushed=pushed, link=1.0)
    return Training(worker=worker, servers=Servers(link=1.0), updates=SYNCHRONOUS)


def fair():
    pull_1 = 2 * 1.0  # half the link each
    backward_2 = pull_1 + 4.0 + 1.0 + 1.0
    push_2_alone = 1.0  # carried during backward 1
    push_1 = backward_2 + 1.0 + 2 * 1.0
    return push_1 + (4.0 - push_2_alone - 1.0)


def fifo():
    pull_1 = 4.0 + 1.0
    backward_2 = pull_1 + 4.0 + 1.0 + 1.0
    return backward_2 + 4.0 + 1.0


def windows():
    pull_1 = WINDOW + 1.0
    backward_2 = pull_1 + 4.0 + 1.0 + 1.0
    push_1 = backward_2 + WINDOW + 1.0
    return push_1 + (4.0 - WINDOW)


def in_order():
    pull_1 = 1.0
    forward_1 = pull_1 + 4.0
    pull_2 = 1.0 + 4.0
    backward_2 = max(forward_1, pull_2) + 1.0 + 1.0
    push_1 = backward_2 + 1.0 + 1.0
    return push_1 + (4.0 - 1.0)  # a byte of layer 2 went while layer 1 was computed


@pytest.mark.parametrize(
    ("policy", "seconds", "by_hand"),
    [
        (LinkPolicy.FAIR, 13.0, fair),
        (LinkPolicy.FIFO, 16.0, fifo),
        (LinkPolicy.WINDOWS, 14.0, windows),
        (LinkPolicy.ORDER, 12.0, in_order),
    ],
)
def test_policy_moves_throughput_as_worked_out_by_hand(policy, seconds, by_hand):
    assert by_hand() == seconds
    found = simulate(
        trained(), 1, steps=40, seed=0, policy=policy, window=WINDOW, recorded=[TWO_LAYERS]
    )
    assert found.throughput == pytest.approx(1.0 / seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("policy", "pulled", "computed", "pushed"),
    [
        # Both pull at half the rate, compute together, and push at half the rate.
        (LinkPolicy.FAIR, 2.0, 1.0, 2.0),
        # The second has its parameters a second after the first, and pushes after it.
        (LinkPolicy.FIFO, 2.0, 1.0, 1.0),
    ],
)
def test_two_workers_share_a_link_or_queue_for_it(policy, pulled, computed, pushed):
    found = simulate(
        trained(pulled=1.0, pushed=1.0, seconds=1.0), 2, steps=40, seed=0, policy=policy
    )
    assert found.throughput == pytest.approx(2.0 / (pulled + computed + pushed), rel=1e-9)


@pytest.mark.parametrize("policy", sorted(set(LinkPolicy) - {LinkPolicy.BUFFERED}))
def test_messages_of_one_layer_take_the_same_time_under_each_policy(policy):
    step = RecordedStep(
        number=0,
        operations=(
            carry("pull", StepResource.DOWNLINK, 3.0, layer=1),
            compute("forward", 2.0, "pull"),
            carry("push", StepResource.UPLINK, 3.0, layer=1, after=("forward",)),
        ),
    )
    found = simulate(trained(), 1, steps=40, seed=0, policy=policy, recorded=[step])
    assert found.throughput == pytest.approx(1.0 / 8.0, rel=1e-9)


def test_buffers_of_a_switch_do_not_go_with_recorded_operations():
    step = RecordedStep(number=0, operations=(compute("forward", 2.0),))
    with pytest.raises(InputError, match="no recorded operations"):
        simulate(trained(), 1, steps=40, seed=0, policy=LinkPolicy.BUFFERED, recorded=[step])


def test_a_larger_window_than_any_message_is_the_order_of_requests():
    found = [
        simulate(trained(), 1, steps=40, seed=0, policy=policy, window=9.0, recorded=[TWO_LAYERS])
        for policy in (LinkPolicy.WINDOWS, LinkPolicy.FIFO)
    ]
    assert found[0].throughput == pytest.approx(found[1].throughput, rel=1e-9)


def test_two_workers_each_get_half_of_what_their_messages_share():
    pull_1 = 2 * 2 * 1.0
    pull_2 = pull_1 + 2 * (4.0 - 1.0)
    backward_2 = max(pull_1 + 4.0, pull_2) + 1.0 + 1.0
    push_1 = backward_2 + 1.0 + 2 * 2 * 1.0
    push_2 = push_1 + 2 * (4.0 - 0.5 - 1.0)  # half a byte went while layer 1 was computed
    found = simulate(trained(), 2, steps=40, seed=0, recorded=[TWO_LAYERS])
    assert found.throughput == pytest.approx(2.0 / push_2, rel=1e-9)
