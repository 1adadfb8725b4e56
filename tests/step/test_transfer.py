"""Collectives of all devices of a cluster."""

import numpy as np
import pytest

from foretrain.step.collective import algorithms, transfer, transfers
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT

OF_DEVICES = [*(each for each in Pattern if each is not Pattern.DISPATCH), None]
"""Patterns of a library; a dispatch is one of a mixture's layer."""

SIZES = [2.0**power for power in range(10, 36)]


@pytest.mark.parametrize("pattern", OF_DEVICES)
def test_more_bytes_never_take_less_time(pattern):
    place = cluster("aws-p5-48xlarge", nodes=2)
    seconds = transfer(place, DEFAULT, pattern, sizes=SIZES)
    assert (np.diff(seconds) > 0).all()


@pytest.mark.parametrize("pattern", OF_DEVICES)
def test_a_size_takes_as_long_as_it_does_alone(pattern):
    place = cluster("dgx-a100", nodes=4)
    together = transfer(place, DEFAULT, pattern, sizes=SIZES)
    alone = [float(transfer(place, DEFAULT, pattern, sizes=[size])[0]) for size in SIZES]
    np.testing.assert_array_equal(together, alone)


def test_library_alone_has_no_collectives_of_frameworks():
    place = cluster("aws-p4de-24xlarge", nodes=2)
    assert "hierarchical" not in algorithms(place, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES)


def test_a_gigabyte_among_eight_h100_takes_what_nccl_tests_print():
    # azure-guide-0045 and aws-nccl-0095: 4029 and 4253 us, 466 and 442 GB/s of bus bandwidth.
    seconds = transfer(cluster("dgx-h100", nodes=1), DEFAULT, Pattern.ALL_REDUCE, sizes=[2.0**30])
    assert seconds[0] == pytest.approx((4029e-6 + 4253e-6) / 2, rel=0.05)


def test_one_process_for_eight_devices_calls_for_one_after_the_other():
    place = cluster("dgx-h100", nodes=1)
    sizes = [1024.0, 2.0**30]
    each = transfer(place, DEFAULT, Pattern.ALL_REDUCE, sizes=sizes)
    one = transfer(place, DEFAULT, Pattern.ALL_REDUCE, sizes=sizes, together=8)
    assert one[0] == 8 * DEFAULT.links.launch > each[0]
    assert one[1] == each[1]


def test_no_bytes_take_no_time_however_they_are_called():
    place = cluster("dgx-h100", nodes=1)
    found = transfers(place, DEFAULT, Pattern.ALL_REDUCE, sizes=[0.0], together=8)
    assert (found.seconds[0], found.waiting[0]) == (0.0, 0.0)


def test_some_devices_take_as_long_as_a_cluster_of_as_many():
    small, large = (cluster("dgx-h100", nodes=nodes) for nodes in (2, 64))
    alone = transfers(small, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES)
    some = transfers(large, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES, devices=16)
    np.testing.assert_array_equal(alone.seconds, some.seconds)
    assert alone.names == some.names


@pytest.mark.parametrize("pattern", OF_DEVICES)
def test_short_messages_wait_and_long_ones_move(pattern):
    found = transfers(cluster("dgx-a100", nodes=2), DEFAULT, pattern, sizes=SIZES)
    assert found.waiting[0] > 0.9
    assert found.waiting[-1] < 0.05
    assert (found.waiting <= 1.0).all()
    spread = found.spread(DEFAULT.transfer_errors)
    errors = DEFAULT.transfer_errors
    assert spread[-1] == pytest.approx(np.exp(errors.moving), rel=0.05)
    assert spread[0] <= np.exp(np.hypot(errors.moving, errors.waiting))
