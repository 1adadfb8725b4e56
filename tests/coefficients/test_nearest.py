"""Which measured runs are most like a prediction: computed from the case, never a constant."""

from dataclasses import replace

import pytest

from foretrain.coefficients.intervals import MOST, Situation, nearest
from foretrain.coefficients.uncertainty import NOTHING, Covers, Fitted
from foretrain.study.coefficients import SHIPPED, as_toml, calibration

CASE = Situation(device="h100-sxm", devices=64, parameters=7e9, divided=True)
LIKE = Fitted(
    id="a-0001",
    model="Llama 7B",
    device="h100-sxm",
    sample="tokens",
    parameters=7e9,
    devices=(8, 64),
    kinds=frozenset({"divided"}),
    rows=4,
    error=0.02,
)
UNLIKE = {
    "device": replace(LIKE, id="b-0001", device="a100-sxm-80gb"),
    "samples (pictures, not tokens)": replace(LIKE, id="c-0001", sample="pictures"),
    "mixtures of experts (there alone)": replace(
        LIKE, id="d-0001", kinds=frozenset({"divided", "experts"})
    ),
    "a model on several devices (here alone)": replace(LIKE, id="e-0001", kinds=frozenset()),
    "parameters (70 G)": replace(LIKE, id="f-0001", parameters=7e10),
    "number of devices": replace(LIKE, id="g-0001", devices=(1024, 2048)),
}
COVERS = Covers(runs=(*UNLIKE.values(), LIKE))


def test_run_that_differs_in_nothing_comes_first():
    first = nearest(CASE, COVERS)[0]
    assert (first.id, first.differs, first.error) == ("a-0001", (), 0.02)
    assert first.run == "Llama 7B on 8 to 64 h100-sxm"


@pytest.mark.parametrize(("difference", "run"), UNLIKE.items())
def test_what_differs_is_named(difference, run):
    (found,) = nearest(CASE, Covers(runs=(run,)))
    assert found.differs == (difference,)


@pytest.mark.parametrize("run", UNLIKE.values())
def test_case_like_another_run_has_that_for_its_nearest(run):
    case = replace(
        CASE,
        device=run.device,
        sample=run.sample,
        parameters=run.parameters,
        devices=run.devices[0],
        divided="divided" in run.kinds,
        experts="experts" in run.kinds,
    )
    assert nearest(case, COVERS)[0].id == run.id


@pytest.mark.parametrize(
    "change",
    [
        lambda far: {"parameters": far * LIKE.parameters},
        lambda far: {"parameters": LIKE.parameters / far},
        lambda far: {"devices": (round(64 * far), 9999)},
        lambda far: {"devices": (1, round(64 / far))},
        lambda far: {"kinds": frozenset({"divided", "wide"} if far > 10 else {"divided"})},
    ],
    ids=["larger", "smaller", "more", "fewer", "kind"],
)
def test_ten_times_the_size_or_number_is_as_unlike_as_another_device(change):
    other = UNLIKE["device"]
    for far, first in ((9.0, "far"), (12.0, other.id)):
        run = replace(LIKE, id="far", rows=1, **change(far))
        assert nearest(CASE, Covers(runs=(other, run)))[0].id == first


def test_another_kind_of_sample_is_more_unlike_than_three_differences():
    picture = replace(LIKE, id="picture", sample="pictures")
    odd = replace(UNLIKE["device"], id="odd", kinds=frozenset({"experts"}))
    assert [each.id for each in nearest(CASE, Covers(runs=(picture, odd)))] == ["odd", "picture"]


def test_of_equals_the_one_with_more_rows_comes_first():
    more = replace(LIKE, id="z-0001", rows=9)
    assert [each.id for each in nearest(CASE, Covers(runs=(LIKE, more)))] == ["z-0001", "a-0001"]
    assert len(nearest(CASE, COVERS)) == MOST


def test_set_without_runs_has_none_that_is_near():
    assert nearest(CASE, NOTHING) == ()


def test_shipped_runs_lie_inside_of_what_the_shipped_set_covers():
    covers = SHIPPED.covers
    assert sum(run.rows for run in covers.runs) > 1000
    for run in covers.runs:
        assert run.sample in covers.samples
        assert run.kinds <= covers.kinds
        assert covers.counts[0] <= run.devices[0] <= run.devices[1] <= covers.counts[1]
        least, most = covers.parameters
        assert least * 0.999 <= run.parameters <= most * 1.001


def test_runs_survive_being_written():
    made = replace(SHIPPED, covers=COVERS)
    again = calibration(as_toml(made, over=SHIPPED, about="made up"), over=SHIPPED, where="again")
    assert again.covers.runs == COVERS.runs
    assert "[covers]" not in as_toml(SHIPPED, over=SHIPPED, about="made up")
