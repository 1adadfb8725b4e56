"""Drawn jobs: laws that hold of every mix, and what the published one gives."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.errors import InputError
from foretrain.jobs.generator import ENDS, arrive, draw, estimate_errors, generate
from foretrain.jobs.mix import DAY, PHILLY, Failing, JobSize, Killing, Length, Mix
from foretrain.measured.job import End

PLAIN = Mix(
    sizes=(JobSize(devices=1, share=3.0), JobSize(devices=4, share=1.0, stretch=2.0)),
    length=Length(median=600.0, spread=1.0, tail=0.1, begins=3_600.0, index=1.5, longest=86_400.0),
)


def drawn(mix=PLAIN, seed=0, count=2_000, **settings):
    settings = {"load": 0.8, "devices": 16} | settings
    return generate(mix, np.random.default_rng(seed), count=count, **settings)


def test_the_same_seed_gives_the_same_jobs():
    assert drawn(PHILLY, seed=3) == drawn(PHILLY, seed=3)
    assert drawn(PHILLY, seed=3) != drawn(PHILLY, seed=4)


def test_the_jobs_that_are_drawn_have_the_load():
    trace = drawn(count=20_000, load=0.5, devices=32)
    asked = sum(job.ends_after * job.devices for job in trace.jobs)
    assert asked / (32 * trace.jobs[-1].arrival) == pytest.approx(0.5, rel=0.05)


def test_twice_the_load_is_the_same_jobs_in_half_the_time():
    slow, quick = drawn(load=0.4), drawn(load=0.8)
    assert [job.work for job in slow.jobs] == [job.work for job in quick.jobs]
    np.testing.assert_allclose(
        [job.arrival for job in slow.jobs], [2.0 * job.arrival for job in quick.jobs]
    )


def test_a_restart_takes_every_job_as_long_and_changes_nothing_else():
    plain, slow = drawn(PHILLY), drawn(PHILLY, restart=30.0)
    assert slow.jobs == tuple(replace(job, restart=30.0) for job in plain.jobs)


def test_without_failures_and_kills_every_job_finishes():
    assert all(job.end is End.FINISHED and job.ends_after == job.work for job in drawn().jobs)


def test_a_mix_without_ends_gives_the_same_jobs_run_to_completion():
    early = drawn(PHILLY)
    whole = drawn(replace(PHILLY, failing=None, killing=None))
    assert [(job.work, job.devices) for job in early.jobs] == [
        (job.work, job.devices) for job in whole.jobs
    ]


def test_no_job_is_larger_than_the_cluster():
    assert max(job.devices for job in drawn(PHILLY, count=20_000, devices=8).jobs) == 8
    with pytest.raises(InputError, match="the smallest jobs of the mix need 4 devices, not 2"):
        drawn(replace(PLAIN, sizes=(JobSize(devices=4, share=1.0),)), devices=2)


def test_failures_come_at_a_falling_hazard():
    mix = replace(PLAIN, failing=Failing(shape=0.5, scale=300.0))
    columns = draw(mix, np.random.default_rng(1), count=50_000, largest=4)
    failed = columns.ran[columns.end == ENDS.index(End.FAILED)]
    assert (failed < 300.0).sum() > 2 * ((failed >= 300.0) & (failed < 600.0)).sum()


def test_kills_come_at_a_share_of_the_work_and_oftener_the_longer_it_is():
    mix = replace(PLAIN, killing=Killing(half=600.0, steepness=1.0, late=2.0))
    columns = draw(mix, np.random.default_rng(1), count=50_000, largest=4)
    killed = columns.end == ENDS.index(End.KILLED)
    share = columns.ran[killed] / columns.work[killed]
    assert share.mean() == pytest.approx(2.0 / 3.0, abs=0.02)
    long = columns.work > np.median(columns.work)
    assert killed[long].mean() > 1.5 * killed[~long].mean()


def test_arrivals_swing_with_the_day():
    mix = replace(PLAIN, swing=0.5, peak=6 * 3_600.0)
    turn = np.cumsum(np.random.default_rng(0).standard_exponential(200_000))
    hours = arrive(mix, turn, rate=0.1) % DAY / 3_600.0
    early, late = ((hours > 4) & (hours < 8)).sum(), ((hours > 16) & (hours < 20)).sum()
    assert early / late == pytest.approx(1.48 / 0.52, rel=0.05)


def test_a_whole_day_brings_what_its_rate_says_whatever_its_wave():
    mix = replace(PLAIN, swing=0.5, peak=6 * 3_600.0)
    days = np.arange(4.0)
    np.testing.assert_allclose(arrive(mix, days * 0.1 * DAY, rate=0.1), days * DAY, atol=1e-6)


def test_steady_arrivals_are_a_poisson_process():
    turn = np.cumsum(np.random.default_rng(0).standard_exponential(1_000))
    np.testing.assert_allclose(arrive(PLAIN, turn, rate=0.25), turn / 0.25)


def test_estimates_are_as_wrong_as_those_of_users():
    factor = estimate_errors(np.random.default_rng(0), 100_000)
    wrong = np.maximum(factor, 1.0 / factor)
    for share, most in ((0.1, 1.1), (0.5, 1.5), (0.7, 2.0), (0.9, 10.0)):
        assert (wrong <= most).mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"count": 0}, "count must be at least 1"), ({"load": 0.0}, "load must be above 0")],
)
def test_nothing_can_be_drawn_of_nothing(settings, text):
    with pytest.raises(InputError, match=text):
        drawn(**settings)
