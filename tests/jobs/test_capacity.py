"""How many nodes are enough, and how sure that is."""

import pytest

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.capacity import capacity
from foretrain.measured.queue_study import Drawn, QueueStudy, Target, TargetQuantity
from foretrain.show.document import plain


def enough(quantity, seconds, *, most=16, jobs=300):
    study = QueueStudy(
        fleet=Fleet(nodes=(Nodes(count=2, devices=4),)),
        jobs=Drawn(jobs=jobs),
        policies=("fifo",),
        loads=(0.6,),
        target=Target(quantity=quantity, seconds=seconds, most=most),
    )
    [found] = capacity(study, (), tell=lambda _what, _done, _all: None).policies
    return found


@pytest.mark.parametrize("quantity", [TargetQuantity.P95_WAITING, TargetQuantity.WAITING])
def test_the_number_lies_in_its_interval(quantity):
    found = enough(quantity, 3_600.0)
    assert found.least <= found.nodes <= found.most


def test_a_longer_time_needs_no_more_nodes():
    short, long = (enough(TargetQuantity.WAITING, seconds) for seconds in (600.0, 36_000.0))
    assert long.nodes <= short.nodes
    assert long.most <= short.most


def test_where_none_that_were_looked_at_are_enough_there_is_no_end():
    found = enough(TargetQuantity.MEAN, 1.0)
    assert (found.nodes, found.most) == (None, None)


def test_where_jobs_do_not_fit_no_time_is_told_and_the_answer_is_a_document():
    found = enough(TargetQuantity.MEAN, 1.0, most=1)
    assert (found.nodes, found.response) == (None, None)
    assert plain(found)["response"] is None
