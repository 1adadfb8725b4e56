"""Profiles of training: what their measurements allow, by hand."""

import pytest
from validation.scheduling.profile import Epoch, Profile, Submission

from foretrain.errors import InputError
from foretrain.queueing.step_fit import TimedStep


def timed(devices, batch, *, nodes=1, **others):
    return TimedStep(
        nodes=nodes, devices=devices, batch=batch, **{"step": 1.0, "sync": 0.0, **others}
    )


EPOCH = Epoch(progress=1.0, steps=1.0, signal=1.0, noise=1.0)


def profile(*steps, largest=64):
    return Profile(name="small", steps=steps, epochs={8: (EPOCH, EPOCH), largest: (EPOCH,)})


def test_the_largest_batch_of_a_device_was_measured_everywhere():
    assert profile(timed(1, 4), timed(1, 8), timed(2, 4), timed(2, 8)).most == 8
    assert profile(timed(1, 4), timed(1, 8), timed(2, 4)).most == 4


def test_it_need_not_be_measured_where_all_devices_would_exceed_the_largest_total():
    assert profile(timed(1, 4), timed(1, 64), timed(2, 4)).most == 64


def test_training_is_as_long_as_every_batch_was_trained():
    small = profile(timed(1, 4))
    assert (small.length, small.smallest, small.largest, small.least) == (1, 8, 64, 4)


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="nodes must lie from 1 to 2"):
        timed(2, 4, nodes=3)
    with pytest.raises(InputError, match="sync must lie from 0 to 1"):
        timed(2, 4, sync=1.0)
    with pytest.raises(InputError, match="steps is empty"):
        profile()
    with pytest.raises(InputError, match="noise above 0"):
        Epoch(progress=1.0, steps=1.0, signal=1.0, noise=0.0)
    with pytest.raises(InputError, match="at least 0 s"):
        Submission(name="a", arrival=-1.0, application="small", devices=1, batch=8)
