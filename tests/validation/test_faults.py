"""What a reader should have got in a run of faults, and what its log says."""

from dataclasses import replace

import pytest
from validation.faults.books import books
from validation.faults.plan import draw
from validation.faults.roles import log
from validation.faults.run import Member


@pytest.fixture
def lost(tmp_path):
    """Samples that a reader of three epochs lost which logged these epochs."""

    def lost(policy, epochs):
        plan = replace(draw(0, name="books"), samples=4, epochs=3)
        part = replace(plan.parts[0], policy=policy, late=0.0)
        path = tmp_path / f"{policy}-{len(epochs)}"
        for epoch, ids in epochs.items():
            log(path, ids=ids, epoch=epoch)
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
    assert lost("drop", {0: WHOLE[:1], 2: WHOLE[2:]}) == 0
    assert lost("drop", {2: WHOLE}) == 0
