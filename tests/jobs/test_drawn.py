"""Jobs drawn of models: laws of their times, their work and their kinds."""

from collections import Counter
from dataclasses import replace
from statistics import fmean, pstdev

import numpy as np
import pytest

from foretrain.jobs.generator import JobKind, drawn
from foretrain.throughput import rigid

SMALL = JobKind(name="small", curve=rigid(1), asks=1, samples=600.0, vary=0.5, share=3.0)
LARGE = JobKind(name="large", curve=rigid(4), asks=4, samples=2_000.0, vary=0.0, share=1.0)


def trace(*, seed=0, count=20_000, load=0.8, **settings):
    random = np.random.default_rng(seed)
    return drawn((SMALL, LARGE), count=count, load=load, devices=16, random=random, **settings)


def test_the_same_seed_gives_the_same_jobs():
    assert trace(seed=3, count=100) == trace(seed=3, count=100)
    assert trace(seed=3, count=100) != trace(seed=4, count=100)


def test_what_comes_has_the_load():
    jobs = trace(load=0.5).jobs
    asked = sum(job.work * job.devices for job in jobs)
    assert asked / (16 * jobs[-1].arrival) == pytest.approx(0.5, rel=0.05)


def test_models_come_in_their_shares():
    counts = Counter(job.group for job in trace().jobs)
    assert counts["small"] / counts["large"] == pytest.approx(3.0, rel=0.05)


def test_work_has_the_mean_and_the_variation_of_its_model():
    work = {
        name: [job.work for job in trace().jobs if job.group == name] for name in ("small", "large")
    }
    assert fmean(work["small"]) == pytest.approx(600.0, rel=0.02)
    assert pstdev(work["small"]) / fmean(work["small"]) == pytest.approx(0.5, rel=0.05)
    assert set(work["large"]) == {2_000.0}


def test_a_restart_takes_every_job_as_long_and_changes_nothing_else():
    plain, slow = trace(count=100), trace(count=100, restart=30.0)
    assert slow.jobs == tuple(replace(job, restart=30.0) for job in plain.jobs)
