"""Shockwave's traces: batches that grow, and what is said of bad input."""

import pytest
from validation.scheduling.formats.shockwave import LARGEST, SAMPLES, read_shockwave

from foretrain.errors import InputError
from foretrain.throughput import (
    Phased,
    Point,
    ThroughputCurve,
)

BATCHES = (5, 10, 20, 40, 80)
RATES = {
    (f"LM (batch size {batch})", 1): ThroughputCurve(
        name="LM", points=(Point(devices=1, rate=400.0 / batch, kind="v100"),)
    )
    for batch in BATCHES
}
EPOCH = 59_675
"""Samples of an epoch of LM."""


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
    assert phases(tmp_path, "accordion") == [(0.0, 1.0), (10 * -(-EPOCH // 20), 4.0)]


def changes(tmp_path, model, batch, mode, *, epochs, devices=1):
    """Epochs at which a job's batch changes, and the batches."""
    samples, largest = SAMPLES[model], LARGEST[model]
    steps = epochs * -(-samples // batch)
    rates = {
        (f"{model} (batch size {batch << doublings})", devices): ThroughputCurve(
            name=model, points=(Point(devices=devices, rate=1.0, kind="v100"),)
        )
        for doublings in range(10)
        if batch << doublings <= largest
    }
    row = (
        f"{model} (batch size {batch})",
        "",
        "",
        "",
        "1",
        steps,
        devices,
        mode,
        "1",
        "-1",
        "9",
        "0",
    )
    path = tmp_path / "jobs.trace"
    path.write_text("\t".join(map(str, row)))
    (job,) = read_shockwave(path, rates).jobs
    if not isinstance(job.curve, Phased):
        return []
    epoch = -(-samples // batch)
    if mode == "accordion":  # epochs are kept, whose last step may be smaller
        grown = [batch << doublings for doublings in range(10)]
        by_scale = {epoch / -(-samples // each): each for each in grown}
        return [(each.begins / epoch, by_scale[each.scale]) for each in job.curve.phases[1:]]
    return [(each.begins / epoch, each.scale * batch) for each in job.curve.phases[1:]]


def test_accordion_goes_back_to_the_first_batch_where_learning_is_critical(tmp_path):
    """`_simulate_accordion` of the authors' scheduler, by model and first batch."""
    found = changes(tmp_path, "ResNet-18", 32, "accordion", epochs=300)
    assert found == [(10, 256), (150, 32), (160, 256), (250, 32), (260, 256)]
    found = changes(tmp_path, "ResNet-50", 32, "accordion", epochs=100)
    assert found == [(10, 128), (30, 32), (40, 128), (60, 32), (70, 128), (90, 32)]
    assert changes(tmp_path, "Transformer", 16, "accordion", epochs=300) == []
    for batch, begins in ((512, 30), (1024, 30), (2048, 40), (4096, 10)):
        found = changes(tmp_path, "Recommendation", batch, "accordion", epochs=300)
        assert found == [(begins, 8192)]
    assert changes(tmp_path, "LM", 20, "accordion", epochs=300) == [(10, 80)]


def test_a_change_at_the_very_end_of_a_job_is_none(tmp_path):
    assert changes(tmp_path, "ResNet-18", 32, "accordion", epochs=10) == []
    assert len(changes(tmp_path, "ResNet-18", 32, "accordion", epochs=11)) == 1


GROWN = (
    ("ResNet-18", 16, "31 41 51 71", "21 31 91 111", "11 21 81 91"),
    ("ResNet-18", 32, "21 31 51", "11 21 41", "21 31 61"),
    ("ResNet-18", 64, "11 31", "21 41", "11 61"),
    ("ResNet-18", 128, "11", "41", "11"),
    ("ResNet-50", 32, "", "101 111", "131 221"),
    ("ResNet-50", 64, "101", "81", "191"),
    ("LM", 5, "31 41 61 71", "31 51 61 71", "11 31 71 91"),
    ("LM", 10, "11 21 41", "11 31 41", "11 31 61"),
    ("LM", 20, "11 41", "31 41", "11 61"),
    ("LM", 40, "11", "11", "61"),
    ("Recommendation", 512, "21 41 71 91", "", ""),
    ("Recommendation", 1024, "21 51 91", "", ""),
    ("Recommendation", 2048, "21 41", "", ""),
    ("Recommendation", 4096, "41", "", ""),
    ("Transformer", 16, "", "", ""),
)
"""The lists of `get_gns_bs_pattern` in the authors' code, on 1, 2 and 4 devices."""


@pytest.mark.parametrize("row", GROWN, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_noise_scale_doubles_the_batch_an_epoch_before_those_of_the_list(tmp_path, row):
    model, batch, *lists = row
    for devices, listed in zip((1, 2, 4), lists, strict=True):
        epochs = [int(epoch) for epoch in listed.split()]
        doubled = [(epoch - 1, batch << place) for place, epoch in enumerate(epochs, 1)]
        found = changes(tmp_path, model, batch, "gns", epochs=300, devices=devices)
        assert found == doubled
    assert changes(tmp_path, model, batch, "gns", epochs=300, devices=8) == []


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
