"""Who trains at once: all where they fit, waves where they do not, fewer after comparisons."""

import pytest
from tests.ensemble.run.studies import study

from foretrain.ensemble.run.launch import comparisons, threads, together
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import HandingCosts, Probed, SampleCosts, StepCosts

GRID = '\n[[members]]\nname = "m"\nmodel = "a:b"\ngrid.batch = [1, 2, 3, 4]\n'


def probed(recipes, memory, *, device=0.0):
    costs = StepCosts(rate=100.0, cpu=0.01, memory=memory, device_memory=device)
    return Probed(
        sample=SampleCosts(prepare=0.01, seconds=0.01, size=1e5, count=100),
        handing=HandingCosts(),
        members={each.name: costs for each in recipes},
    )


@pytest.fixture
def recipes(tmp_path):
    return study(tmp_path, GRID, name="parts").recipes


def test_members_that_fit_train_together(recipes):
    (group,) = together(recipes, probed(recipes, 10.0), devices=0, memory=40.0)
    assert [*group] == [each.name for each in recipes]


def test_members_that_do_not_fit_train_in_waves(recipes):
    groups = together(recipes, probed(recipes, 10.0), devices=0, memory=25.0)
    assert [len(group) for group in groups] == [2, 2]
    assert sorted(name for group in groups for name in group) == [each.name for each in recipes]


def test_a_member_that_fits_nowhere_is_refused(recipes):
    with pytest.raises(InputError, match="holds 10 bytes, and a device has 9"):
        together(recipes, probed(recipes, 10.0), devices=0, memory=9.0)


def test_members_are_dealt_out_to_devices_by_the_memory_that_they_hold_there(recipes):
    known = probed(recipes, 10.0, device=6.0)
    groups = together(recipes, known, devices=2, memory=8.0)
    assert [sorted(group.values()) for group in groups] == [[0, 1], [0, 1]]


def test_comparisons_come_after_eta_times_as_many_epochs_each(tmp_path):
    assert comparisons(study(tmp_path, GRID, name="plain")) is None
    halving = "\n[halving]\neta = 3\nfirst = 2\n"
    found = comparisons(study(tmp_path, GRID, halving, name="halved", epochs=20))
    assert (found.rungs, found.eta) == ((2.0, 6.0, 18.0), 3)
    assert comparisons(study(tmp_path, GRID, halving, name="short", epochs=2)) is None


def test_cores_are_dealt_out_and_nobody_goes_without():
    assert [threads(members, 8) for members in (1, 3, 8, 20)] == [8, 2, 1, 1]
