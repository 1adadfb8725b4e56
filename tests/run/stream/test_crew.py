"""Workers get as much at a time as keeps talking cheap and waiting short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.run.stream.crew import FIRST, LASTS, MOST, STAGES, Crew


def crew_after(seconds, samples):
    """A crew that has spent so many seconds on so many samples, all of them on reading."""
    crew = Crew(None, size=1)
    crew.spent(np.array([seconds, *[0.0] * (len(STAGES) - 1)]), samples)
    return crew


def test_the_first_tasks_are_small():
    assert Crew(None, size=1).chunk() == FIRST


@given(each=st.floats(1e-7, 100), samples=st.integers(1, 10_000))
def test_a_task_has_a_sample_at_least_and_lasts_no_longer_than_it_should(each, samples):
    chunk = crew_after(each * samples, samples).chunk()
    assert 1 <= chunk <= MOST
    assert chunk == 1 or chunk * each <= LASTS * (1 + 1e-9)


@pytest.mark.parametrize(("each", "chunk"), [(0.002, 25), (0.03, 1), (0.0, MOST)])
def test_samples_that_take_longer_come_in_smaller_tasks(each, chunk):
    assert crew_after(each * 64, 64).chunk() == chunk


def test_processor_time_within_a_stage_is_not_counted_again():
    crew = Crew(None, size=1)
    crew.spent(np.array([0.1, 0.05, 0.05, 0.2]), 100)
    assert STAGES[-1] == "cpu"
    assert crew.chunk() == 25
