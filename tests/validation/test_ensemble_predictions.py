"""Ensembles on one machine by what loaders alone took: how many are foretold, and how."""

import pytest
from validation.ensemble_predictions import MOST, recorded, scored, setting

ALONE = {
    "private 0w x1": {"cpu": 1.8e-3},
    "private 1w x1": {"cpu": 2.5e-3},
    "train x1": {"cpu": 0.1e-3},
    "train cold x1": {"cpu": 0.2e-3, "wall": 0.25e-3},
    "handing": {"store": 0.05e-3, "deliver": 0.07e-3, "collate": 0.03e-3},
    "contention": 0.1,
    "by_session": True,
}


def test_most_ensembles_are_foretold_and_the_docs_say_how_many_are_not():
    found = [claim for claim in recorded() if claim.most is not None]
    kept = {
        what: sum(claim.figure <= MOST[what] for claim in found if f": {what} (" in claim.name)
        for what in MOST
    }
    assert len(found) == 48
    assert kept == {"cpu": 22, "wall": 23}
    missed = [claim.name.partition(" (")[0] for claim in found if not claim.kept]
    assert missed == [
        "EPYC, own worker, K = 1: cpu",
        "EPYC, own worker, K = 1: wall",
        "Xeon, own worker, K = 8: cpu",
    ]


def test_an_ensemble_that_is_predicted_is_never_given():
    assert ("private 0w", 1) not in {*scored()}
    assert not {f"{way} x{members}" for way, members in scored()} & {*ALONE}


def test_the_model_is_given_what_loaders_took_alone():
    found = setting({"given": ALONE}, 4)
    assert found.members == 4
    assert (found.costs.prepare, found.costs.train) == (pytest.approx(1.7e-3), 0.2e-3)
    assert found.costs.demand == pytest.approx(4000)
    assert found.loaders.hand == pytest.approx(0.7e-3)
    assert found.loaders.store == pytest.approx(1.72e-3)
    assert (found.cores.contention, found.cores.by_session) == (0.1, True)
