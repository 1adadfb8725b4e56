"""Shockwave's traces: batches that grow, and what is said of bad input."""

import pytest
from validation.scheduling.formats.shockwave import read_shockwave

from foretrain.errors import InputError
from foretrain.measured.job import Phased
from foretrain.throughput import Point, ThroughputCurve

BATCHES = (5, 10, 20, 40, 80)
RATES = {
    (f"LM (batch size {batch})", 1): ThroughputCurve(
        name="LM", points=(Point(devices=1, rate=400.0 / batch, kind="v100"),)
    )
    for batch in BATCHES
}
RATES |= {
    (f"ResNet-18 (batch size {batch})", 1): ThroughputCurve(
        name="ResNet-18", points=(Point(devices=1, rate=400.0 / batch, kind="v100"),)
    )
    for batch in (32, 256)
}
EPOCH = 59_675
"""Samples of an epoch of LM."""


def residual_network(mode, *, epochs):
    steps = -(-epochs * 50_000 // 32)
    return f"ResNet-18 (batch size 32)\tpython\tcifar\t-s\t1\t{steps}\t1\t{mode}\t1\t-1.0\t9\t0"


def line(mode, *, batch=20, steps=10**6):
    return f"LM (batch size {batch})\tpython\tlm\t-s\t1\t{steps}\t1\t{mode}\t1\t-1.0\t900\t30"


def read(tmp_path, *lines):
    path = tmp_path / "jobs.trace"
    path.write_text("\n".join(lines))
    return read_shockwave(path, RATES).jobs


def phases(tmp_path, mode, **others):
    (job,) = read(tmp_path, line(mode, **others))
    return [(each.begins, each.scale) for each in job.curve.phases]


def test_a_static_job_keeps_its_batch(tmp_path):
    (job,) = read(tmp_path, line("static"))
    assert not isinstance(job.curve, Phased)
    assert (job.arrival, job.work, job.devices) == (30.0, 1e6, 1)


def test_accordion_takes_the_largest_batch_after_the_critical_epochs(tmp_path):
    assert phases(tmp_path, "accordion") == [(0.0, 1.0), (-(-10 * EPOCH // 20), 4.0)]


def test_between_two_critical_times_of_a_job_its_batch_is_the_largest(tmp_path):
    (job,) = read(tmp_path, residual_network("accordion", epochs=300))
    changes = [(int(each.begins * 32 // 50_000), each.scale) for each in job.curve.phases]
    first, largest = 1.0, 8.0
    assert changes == [
        (0, first), (30, largest), (150, first), (160, largest), (225, first), (235, largest),
    ]  # fmt: skip


def test_a_change_at_the_very_end_of_a_job_is_none(tmp_path):
    (job,) = read(tmp_path, residual_network("accordion", epochs=30))
    assert not isinstance(job.curve, Phased)
    (job,) = read(tmp_path, residual_network("accordion", epochs=31))
    assert len(job.curve.phases) == 2


def test_the_noise_scale_doubles_the_batch_up_to_the_largest(tmp_path):
    begins = [-(-epoch * EPOCH // 20) for epoch in (31, 51)]
    assert phases(tmp_path, "gns") == [(0.0, 1.0), (begins[0], 2.0), (begins[1], 4.0)]


def test_a_job_that_ends_before_never_changes(tmp_path):
    (job,) = read(tmp_path, line("gns", steps=1000))
    assert not isinstance(job.curve, Phased)


def test_the_largest_batch_never_changes(tmp_path):
    (job,) = read(tmp_path, line("accordion", batch=80))
    assert not isinstance(job.curve, Phased)


def test_a_step_of_a_larger_batch_counts_as_several_of_the_first(tmp_path):
    (job,) = read(tmp_path, line("accordion"))
    begins = job.curve.until(0.0)
    assert job.curve.rate(1, nodes=1, kind="v100", done=0.0) == 20.0
    assert job.curve.rate(1, nodes=1, kind="v100", done=begins) == 4 * 5.0


def test_all_bad_lines_are_told_with_their_numbers(tmp_path):
    bad = [line("static"), line("often"), line("gns").replace("LM (", "GAN ("), "LM", "\t" * 11]
    with pytest.raises(InputError) as error:
        read(tmp_path, *bad)
    said = str(error.value).splitlines()
    assert [each.partition(":")[0] for each in said[1:]] == [f"- line {n}" for n in (2, 3, 4, 5)]
    assert "unknown mode 'often'. Known: static, accordion, gns." in said[1]
    assert "unknown model 'GAN'" in said[2]
