"""What a reader should have got in a run of faults, and what its log says."""

from dataclasses import replace

import pytest
from validation.faults.books import books
from validation.faults.plan import draw
from validation.faults.roles import events_of, log
from validation.faults.run import Member


@pytest.fixture
def lost(tmp_path):
    """Samples that a reader of three epochs lost which logged these epochs."""

    def lost(policy, epochs, *, dropped=0):
        plan = replace(draw(0, name="books"), samples=4, epochs=3, faults=())
        part = replace(plan.parts[0], policy=policy, late=0.0)
        path = tmp_path / f"{policy}-{len(list(tmp_path.iterdir()))}"
        for epoch, ids in epochs.items():
            log(path, ids=ids, epoch=epoch)
        log(events_of(path), event="done", dropped=dropped)
        return books(plan, [Member(part, path, over="done")]).lost

    return lost


WHOLE = [2, 0, 3, 1]


@pytest.mark.parametrize("policy", ["block", "spill", "detach"])
def test_an_epoch_that_a_reader_never_saw_is_lost(lost, policy):
    assert lost(policy, {0: WHOLE, 1: WHOLE, 2: WHOLE}) == 0
    assert lost(policy, {0: WHOLE, 2: WHOLE}) == 4
    assert lost(policy, {2: WHOLE}) == 8
    assert lost(policy, {0: WHOLE, 1: WHOLE[:3], 2: WHOLE, 3: WHOLE}) > 0


def test_a_reader_that_drops_what_it_is_too_slow_for_may_pass_over_whole_epochs(lost):
    assert lost("drop", {0: WHOLE[:1], 2: WHOLE[2:]}, dropped=9) == 0
    assert lost("drop", {2: WHOLE}, dropped=8) == 0


def test_what_a_reader_dropped_must_be_what_the_stream_says_that_it_dropped(lost):
    assert lost("drop", {0: WHOLE, 2: WHOLE}, dropped=3) == 1
    assert lost("drop", {0: WHOLE, 1: WHOLE, 2: WHOLE}, dropped=2) == 2
