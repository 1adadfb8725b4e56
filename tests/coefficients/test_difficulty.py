"""Difficulty: what runs cover, by hand, and what is beyond that."""

from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.validation.fitting.scored_rows import SITUATION

from foretrain.coefficients.intervals import ENOUGH, FEATURES, beyond, covered, outside

MANY = [
    *(replace(SITUATION, parameters=size * 1e9, devices=8) for size in (3, 1, 7, 2, 5)),
    *[replace(SITUATION, device="b200-sxm", devices=512, experts=True)] * (ENOUGH - 1),
    replace(SITUATION, device="v100", devices=2, sample="pictures", multiplied=0.25),
]
COVERS = covered(MANY)
INSIDE = replace(SITUATION, parameters=5e9, devices=64)
positive = some.floats(1e-3, 1e3)


def test_runs_cover_the_ranges_between_their_least_and_their_most():
    found = covered(MANY)
    assert found.parameters == (1e9, 7e9)
    assert found.counts == (2, 512)
    assert found.multiplied == 0.25


def test_runs_cover_the_kinds_of_any_and_the_devices_of_enough():
    found = covered(MANY)
    assert found.devices == {SITUATION.device}
    assert found.kinds == {"experts"}
    assert found.samples == {"tokens", "pictures"}


@given(value=positive, ends=some.tuples(positive, positive).map(sorted))
def test_what_lies_beyond_a_range_is_the_logarithm_of_the_factor_to_its_nearer_end(value, ends):
    least, most = ends
    nearer = min(max(value, least), most)
    assert beyond(value, (least, most)) == pytest.approx(abs(log(value / nearer)))
    assert beyond(value, (0.0, 0.0)) == 0.0


DIFFERS = {
    "device": ({"device": "h100"}, 1.0, "no run on h100"),
    "sharded": ({"sharded": True}, 1.0, "no run of parameters shared among replicas"),
    "experts": ({"experts": True}, 1.0, ""),
    "sample": ({"sample": "volumes"}, 1.0, "no run whose samples are volumes"),
    "unseen": (
        {"narrow": True, "experts": True, "wide": True},
        2.0,
        "no run of products of 8 or 4 bits; no run of products of 32 bits",
    ),
    "assumed": ({"assumed": 3}, 3.0, ""),
    "host_bound": ({"host_bound": 0.5}, 0.5, ""),
    "size": ({"parameters": 7e10}, log(10.0), "no run of a model of this size"),
    "count": ({"devices": 1}, log(2.0), "no run on that many devices"),
}


@pytest.mark.parametrize("name", DIFFERS)
def test_what_makes_a_case_harder_is_counted_and_told(name):
    change, much, words = DIFFERS[name]
    case = replace(INSIDE, **change)
    assert FEATURES[name](INSIDE, COVERS) == 0
    assert FEATURES[name](case, COVERS) == pytest.approx(much)
    assert "; ".join(outside(case, COVERS)) == words


def test_model_known_by_its_totals_is_outside():
    told = ("no run of a model that is known by its totals only",)
    assert outside(replace(INSIDE, vague=1.5, known_by="its totals only"), COVERS) == told
    assert outside(INSIDE, COVERS) == ()
