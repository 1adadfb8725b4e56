"""Parameters on hosts: a step by hand, its limits and scaling, and a system found again."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validation.parts.hosted import HostedRun, HostedSystem, fit_hosted, slowest_normal

from foretrain.errors import InputError

RUN = HostedRun(alone=0.8, samples=64, parameters=1e9, devices=4, hosts=2, servers=2, reads=True)
SYSTEM = HostedSystem(uneven=0.05, host=1e10, network=5e9, reading=1000.0)
FREE = HostedSystem(uneven=0.0, host=inf, network=inf, reading=inf)


def test_one_device_takes_as_long_as_its_profile():
    alone = replace(RUN, devices=1, hosts=1, servers=1)
    assert SYSTEM.step(alone).total == pytest.approx(0.8)
    assert SYSTEM.rate(alone) == pytest.approx(80.0)


def test_a_step_by_hand():
    step = SYSTEM.step(RUN)
    exchanging = 3 * 1e9 / 1e10 + 1e9 / 2 / 5e9
    assert (step.computing, step.exchanging) == pytest.approx((0.8, exchanging))
    assert step.reading == pytest.approx(3 * 64 / 1000.0)
    assert step.waiting == pytest.approx(0.8 * 0.05 * slowest_normal(8))
    together = sqrt(0.8**2 + exchanging**2 + 0.192**2)
    assert step.total == pytest.approx(together + step.waiting)


def test_free_hosts_and_even_devices_scale_linearly():
    assert FREE.rate(RUN) == pytest.approx(8 * 80.0)


def test_made_up_samples_are_not_read():
    assert SYSTEM.step(replace(RUN, reads=False)).reading == 0.0


def test_twice_the_servers_halve_what_each_sends():
    quick = replace(SYSTEM, host=inf)
    one, two = (quick.step(replace(RUN, servers=each)).exchanging for each in (1, 2))
    assert one == pytest.approx(2 * two)


@given(factor=st.floats(0.01, 100.0), devices=st.integers(1, 16), hosts=st.integers(2, 8))
def test_all_rates_times_a_factor_divide_a_step(factor, devices, hosts):
    run = replace(RUN, devices=devices, hosts=hosts)
    quick = replace(
        SYSTEM,
        host=SYSTEM.host * factor,
        network=SYSTEM.network * factor,
        reading=SYSTEM.reading * factor,
    )
    faster = quick.step(replace(run, alone=run.alone / factor)).total
    assert faster * factor == pytest.approx(SYSTEM.step(run).total)


@pytest.mark.parametrize("count", [2, 8, 64])
def test_the_slowest_of_some_lies_where_drawn_ones_do(count):
    drawn = np.random.default_rng(0).normal(size=(50_000, count)).max(axis=1).mean()
    assert slowest_normal(count) == pytest.approx(drawn, abs=0.03)  # an approximation


RUNS = [
    replace(RUN, alone=alone, devices=devices, hosts=hosts, servers=hosts, reads=reads)
    for alone in (0.2, 0.8)
    for devices in (2, 4, 8)
    for hosts in (1, 4)
    for reads in (False, True)
]
STEPS = [SYSTEM.step(run).total for run in RUNS]


def test_a_system_is_found_again_from_its_own_steps():
    found = fit_hosted(RUNS, STEPS)
    for name in ("uneven", "host", "network", "reading"):
        assert getattr(found, name) == pytest.approx(getattr(SYSTEM, name), rel=0.05)


def test_one_run_that_went_wrong_does_not_decide():
    found = fit_hosted(RUNS, [*STEPS[:-1], 3 * STEPS[-1]])
    assert found.rate(RUN) == pytest.approx(SYSTEM.rate(RUN), rel=0.03)


def test_what_no_run_shows_stays_where_the_fit_began():
    run = replace(RUN, hosts=1, servers=1, reads=False)
    found = fit_hosted([run], [SYSTEM.step(run).total])
    assert (found.network, found.reading) == pytest.approx((1.25e9, 1e4))


@pytest.mark.parametrize("measured", [[], [1.0, 2.0]])
def test_a_fit_needs_a_step_of_each_run(measured):
    with pytest.raises(InputError, match="at least one"):
        fit_hosted([RUN][: len(measured)], measured)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("alone", 0.0),
        ("samples", float("nan")),
        ("parameters", -1.0),
        ("devices", 0),
        ("hosts", 0),
        ("servers", 3),
    ],
)
def test_a_run_that_cannot_be_is_refused(name, refused):
    with pytest.raises(InputError, match=f"HostedRun.{name}|servers"):
        replace(RUN, **{name: refused})


@pytest.mark.parametrize("name", ["uneven", "host", "network", "reading"])
def test_a_system_that_cannot_be_is_refused(name):
    with pytest.raises(InputError, match=f"HostedSystem.{name}"):
        replace(SYSTEM, **{name: -1e-9})
