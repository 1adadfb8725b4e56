"""Published runs of convolutional networks, predicted by sets fitted without their publisher."""

import pytest
from tests.examples import slow
from validation.fitting.scores import score
from validation.images import MUST_COLD, as_known, fittable, learned, told, trainer_of
from validation.parts.cold import HERE, folds, judged

from foretrain.study.coefficients import DEFAULT, PRIORS
from foretrain.study.measurements import read_runs
from validation import images

MANY = ("nv-dle-0097", "tf-bench-2017-0009")
ALONE = ("timm-train-nchw-0236",)


@pytest.fixture(scope="module")
def cold():
    return judged("cnn_training", folds())


@slow
def test_sources_are_predicted_as_well_as_they_must_be(cold):
    assert score(cold.scored).mean <= MUST_COLD


@slow
def test_every_source_counts(cold):
    assert len(score(cold.scored).sources) == 9


def test_what_is_fitted_are_kernels_over_pictures_and_steps_of_them():
    groups = {name.split(".")[0] for name in fittable()}
    assert groups == {"pictures", "picture_steps"}


def test_a_set_as_known_before_any_fit_keeps_everything_else():
    moved = DEFAULT.changed({"pictures.sustained": 0.5})
    known = as_known(moved)
    assert known.pictures == PRIORS.coefficients.pictures
    assert known.matrix == DEFAULT.matrix


def test_every_value_lists_the_rows_that_told_it_but_none_of_who_is_left_out(monkeypatch):
    few = {"cnn_training": MANY, "single_device": ALONE}
    some = {table: [*told(table, of=ids)] for table, ids in few.items()}
    monkeypatch.setattr(images, "told", some.__getitem__)
    whole, without = learned(DEFAULT, {}, command="a command")
    assert {"nvidia", "google"} <= set(without)
    # What kernels of a graph reach hangs on what eager ones do.
    assert set(whole["pictures.eager"].rows) == {*MANY, *ALONE}
    assert set(whole["pictures.graph"].rows) == {MANY[1]}
    assert set(without["nvidia"]["pictures.eager"].rows) == {MANY[1], *ALONE}
    assert all(it.low < it.value < it.high for it in whole.values())


def test_submissions_of_one_benchmark_share_their_code():
    runs = read_runs(HERE / "tables" / "cnn_training.csv")
    mine = {trainer_of(run) for run in runs if run.source_id == "mlperf-v4.1"}
    assert mine == {"mlperf-v4.1, RetinaNet-ResNeXt50 (800x800, OpenImages)"}
