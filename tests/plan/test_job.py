"""Jobs: seconds that make no sense are refused."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.study import JobPlan, Writes


@pytest.mark.parametrize("checkpoint", [*Writes, 0.5, 1])
def test_checkpoints_are_written_after_some_time_or_as_is_best_or_never(checkpoint):
    assert JobPlan(checkpoint=checkpoint, restart=0.0, start=0.0).checkpoint == checkpoint


@pytest.mark.parametrize("checkpoint", [0.0, -1.0, float("nan")])
def test_no_time_between_checkpoints_is_refused(checkpoint):
    with pytest.raises(InputError, match=r"^JobPlan\.checkpoint must be above 0 s, got "):
        JobPlan(checkpoint=checkpoint)


@pytest.mark.parametrize("name", ["restart", "start"])
@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_starts_before_their_time_are_refused(name, seconds):
    with pytest.raises(InputError, match=rf"^JobPlan\.{name} must be at least 0 s, got "):
        JobPlan(**{name: seconds})
