"""Scaling efficiency: families that differ in nothing but the devices."""

import pytest
from tests.validation.fitting.scored_rows import laid, on, row
from validation.fitting.scaling import scaling


def grown(devices, measured, predicted):
    """Eight samples per device on some devices."""
    layout = laid(data=devices)
    return row(
        f"a-{devices}",
        predicted / measured,
        measured=measured,
        place=on(devices),
        layout=layout,
        global_batch=8 * devices,
    )


def test_a_step_that_takes_longer_on_more_devices_is_less_efficient():
    points = scaling([grown(8, 1.0, 2.0), grown(16, 1.25, 2.0), grown(32, 2.0, 2.5)])
    assert [(it.fewest, it.devices) for it in points] == [(8, 16), (8, 32)]
    assert [it.measured for it in points] == pytest.approx([0.8, 0.5])
    assert [it.predicted for it in points] == pytest.approx([1.0, 0.8])
    assert [it.error for it in points] == pytest.approx([0.2, 0.3])


def test_a_batch_that_stays_is_a_family_too():
    rows = [
        row(f"a-{n}", measured=time, place=on(n), layout=laid(data=n))
        for n, time in ((8, 4.0), (16, 2.0), (32, 2.0))
    ]
    assert [it.measured for it in scaling(rows)] == pytest.approx([1.0, 0.5])


def test_two_counts_are_no_family():
    assert scaling([grown(8, 1.0, 1.0), grown(16, 1.0, 1.0)]) == ()


def test_other_plans_are_other_families():
    rows = [grown(8, 1.0, 1.0), grown(16, 1.0, 1.0), grown(32, 1.0, 1.0)]
    rows[2] = row("a-32", place=on(32), layout=laid(data=8, tensor=4), global_batch=256)
    assert scaling(rows) == ()


def test_perfect_predictions_have_no_error_whatever_is_measured():
    points = scaling([grown(n, 1.0 + n / 10, 1.0 + n / 10) for n in (1, 2, 4, 8)])
    assert [it.error for it in points] == pytest.approx([0.0] * 3)
