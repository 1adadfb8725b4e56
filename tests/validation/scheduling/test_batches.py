"""Batches: by hand, and for all batches within limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validation.scheduling.goodput import Limits, candidates, split

from foretrain.errors import InputError

LIMITS = Limits(smallest=128, largest=4096, least=32, most=1024)


def test_a_batch_is_divided_and_rounded_up():
    assert split(2048, 6, LIMITS) == (342, 1)


def test_what_memory_does_not_hold_takes_more_passes():
    assert split(4096, 2, LIMITS) == (1024, 2)


def test_a_single_device_takes_two_passes_once_the_batch_grows():
    assert split(128, 1, LIMITS) == (128, 1)
    assert split(512, 1, LIMITS) == (256, 2)


def test_the_largest_batch_is_never_exceeded():
    assert split(4096, 12, LIMITS).total(12) == 341 * 12


@given(devices=st.integers(1, 64), share=st.floats(0, 1))
def test_a_split_misses_its_batch_by_rounding_alone(devices, share):
    batch = max(128, 32 * devices) + share * (4096 - max(128, 32 * devices))
    chosen = split(batch, devices, LIMITS)
    assert chosen.batch <= LIMITS.most
    assert abs(chosen.total(devices) - batch) <= chosen.passes * devices


@given(devices=st.integers(1, 128))
def test_candidates_keep_every_limit(devices):
    tried = candidates(devices, LIMITS)
    assert tried
    for each in tried:
        assert LIMITS.least <= each.batch <= LIMITS.most
        assert each.total(devices) <= LIMITS.largest


def test_more_devices_than_samples_allow_have_no_candidate():
    assert candidates(129, LIMITS) == ()


def test_limits_that_contradict_each_other_are_refused():
    with pytest.raises(InputError, match="smallest must lie from 1 to 8"):
        Limits(smallest=9, largest=8, least=1, most=1)
