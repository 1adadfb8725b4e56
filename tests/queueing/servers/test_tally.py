"""What is counted of a simulation, and what is not."""

from statistics import variance

import pytest

from foretrain.events import Events
from foretrain.queueing.servers.tally import WARM_UP, Tally


def counted(gaps, *, together=1, samples=2.0):
    events, tally = Events(), None
    tally = Tally(events, steps=len(gaps))
    time = 0.0
    for gap in gaps:
        time += gap
        events.at(time, tally.end)
    events.run()
    assert tally.over
    return tally.result(workers=together, together=together, samples=samples, utilisation={})


def test_the_warm_up_does_not_count():
    slow = int(WARM_UP * 200)
    assert counted([9.0] * slow + [0.5] * (200 - slow)).throughput == pytest.approx(2.0 / 0.5)


def test_variance_is_that_of_rounds():
    found = counted([1.0, 3.0] * 100)
    rounds = [1.0, 3.0] * 90
    assert found.throughput == pytest.approx(2.0 / 2.0, rel=0.01)
    assert found.step_variance == pytest.approx(variance(rounds), rel=0.02)
    assert found.variance == pytest.approx(variance(2.0 / each for each in rounds), rel=0.02)


def test_a_round_is_as_many_steps_as_there_are_workers():
    found = counted([1.0, 3.0] * 100, together=2)
    assert found.throughput == pytest.approx(2 * 2.0 / 4.0)
    assert (found.step, found.step_variance) == (4.0, 0.0)
    assert found.low == pytest.approx(found.high)
