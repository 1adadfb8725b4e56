"""Successive halving: who trains on, by hand, and what always holds."""

from math import inf, isclose, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.ensemble.waves import RungShare, SuccessiveHalving, shares
from foretrain.errors import InputError

TWICE = SuccessiveHalving(rungs=(1, 3))
scores = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(), min_size=1, max_size=9)


def test_the_better_half_trains_on_the_best_first():
    verdict = TWICE.after(0, {"a": 0.9, "b": 0.2, "c": 0.5, "d": 0.4, "e": 0.3})
    assert verdict.kept == ("b", "e")
    assert verdict.stopped == ("d", "c", "a")


def test_equal_scores_are_ordered_by_name_and_what_diverged_comes_last():
    verdict = TWICE.after(1, {"z": nan, "d": inf, "c": 0.5, "b": 0.5, "a": nan})
    assert verdict.kept + verdict.stopped == ("b", "c", "d", "a", "z")


def test_the_best_of_too_few_trains_on():
    assert SuccessiveHalving(rungs=(1,), eta=4).after(0, {"a": 2.0, "b": 1.0}).kept == ("b",)


def test_eight_members_of_nine_epochs_train_28_epochs_instead_of_72():
    # 8 for an epoch, 4 for two more, 2 for the last six: 8 + 8 + 12.
    assert TWICE.work(8, 9) == 28
    assert TWICE.work(8, 1) == 8
    assert SuccessiveHalving(rungs=(1, 3, 6)).work(8, 9) == 8 + 4 * 2 + 2 * 3 + 3


def test_devices_that_are_left_go_to_those_that_train_on():
    verdict = TWICE.after(0, {"a": 0.9, "b": 0.2, "c": 0.5, "d": 0.4, "e": 0.3, "f": 0.1})
    assert verdict.shares(8) == {
        "f": RungShare(devices=3, part=3 / 8),
        "b": RungShare(devices=3, part=3 / 8),
        "e": RungShare(devices=2, part=2 / 8),
    }
    assert verdict.shares(1) == dict.fromkeys("fbe", RungShare(devices=0, part=1 / 3))


@given(scores=scores, eta=st.integers(2, 5))
def test_everybody_is_kept_or_stopped_and_nobody_stopped_beats_anybody_kept(scores, eta):
    verdict = SuccessiveHalving(rungs=(1,), eta=eta).after(0, scores)
    assert sorted(verdict.kept + verdict.stopped) == sorted(scores)
    assert len(verdict.kept) == max(1, len(scores) // eta)
    assert not any(scores[out] < scores[on] for on in verdict.kept for out in verdict.stopped)


@given(scores=scores)
def test_the_order_in_which_scores_arrive_does_not_matter(scores):
    assert TWICE.after(0, dict(reversed(scores.items()))) == TWICE.after(0, scores)


@given(names=st.sets(st.text(max_size=3), min_size=1, max_size=12), devices=st.integers(1, 30))
def test_all_devices_are_dealt_out(names, devices):
    dealt = shares(sorted(names), devices)
    assert isclose(sum(share.part for share in dealt.values()), 1)
    assert len(names) > devices or sum(share.devices for share in dealt.values()) == devices


@given(members=st.integers(1, 20), epochs=st.floats(0.5, 20))
def test_halving_never_trains_more_than_everybody_to_the_end(members, epochs):
    assert epochs <= TWICE.work(members, epochs) * (1 + 1e-12)
    assert TWICE.work(members, epochs) <= members * epochs * (1 + 1e-12)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="must start above 0"):
        SuccessiveHalving(rungs=())
    with pytest.raises(InputError, match="must ascend"):
        SuccessiveHalving(rungs=(2, 2))
    with pytest.raises(InputError, match="eta must be at least 2"):
        SuccessiveHalving(rungs=(1,), eta=1)
    with pytest.raises(InputError, match="rung 2 does not exist; there are 2"):
        TWICE.after(2, {"a": 1.0})
    with pytest.raises(InputError, match="no scores"):
        TWICE.after(0, {})
