"""Throughput curves: what is known is returned, what is not is refused."""

import pytest

from foretrain.errors import InputError
from foretrain.throughput import Amdahl, Point, ThroughputCurve, rigid

CURVE = ThroughputCurve(
    name="a job",
    points=(
        Point(devices=1, rate=10.0),
        Point(devices=4, rate=34.0, nodes=1),
        Point(devices=4, rate=22.0, nodes=4),
    ),
    between=True,
)


def rate(curve, devices, nodes=1):
    return curve.rate(devices, nodes=nodes, kind="", done=0.0)


def test_points_are_returned_as_they_are():
    assert [rate(CURVE, 1), rate(CURVE, 4), rate(CURVE, 4, nodes=4)] == [10.0, 34.0, 22.0]


def test_between_points_the_rate_lies_on_the_line():
    assert rate(CURVE, 2) == 18.0
    assert rate(CURVE, 4, nodes=2) == 30.0


def test_devices_beyond_the_points_are_refused_with_those_known():
    with pytest.raises(InputError, match=r"says nothing of 8 devices\. Known: 1, 4"):
        rate(CURVE, 8)


def test_two_points_of_one_place_are_refused():
    with pytest.raises(InputError, match="two points for 1 devices"):
        ThroughputCurve(name="a job", points=(Point(devices=1, rate=1.0),) * 2)


def test_a_rigid_job_works_a_second_each_second():
    assert rate(rigid(8), 8) == 1.0


def test_a_rigid_job_with_a_share_of_its_devices_takes_turns():
    assert rate(rigid(8), 2.0) == 0.25
    assert rate(rigid(8), 16.0) == 1.0


def test_a_job_without_serial_share_scales_perfectly():
    assert rate(Amdahl(serial=0.0, most=64), 64) == 64.0


def test_a_serial_share_bounds_the_speed_up():
    assert rate(Amdahl(serial=0.1, most=10_000), 10_000) == pytest.approx(10.0, rel=0.01)
