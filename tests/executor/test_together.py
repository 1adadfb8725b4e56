"""Several strategies at once learn what one process learns, and divide what they send."""

import pytest
from tests.executor.asked import asked
from tests.executor.equality import sent_by, trained
from tests.executor.models import model_of
from tests.executor.networks import Pictures, Text
from tests.executor.strategies import pipeline, tensor

from foretrain.plan.plan import Plan

TEXT = Text()


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize(("context", "data"), [(1, 2), (2, 1)])
def test_tensor_members_of_replicas_and_of_rings(processes, sequence, context, data):
    answers = trained(processes, tensor.train, TEXT, 2, sequence, context, data, members=4)
    plan = Plan(
        tensor=2,
        sequence_parallel=sequence,
        context=context,
        data=data,
        micro_batch=TEXT.batch // data,
    )
    assert sent_by(answers) == [asked(model_of(TEXT), plan, batch=TEXT.batch)] * 4


@pytest.mark.parametrize(
    ("network", "cut", "passes"), [(TEXT, (2, 2), 2), (Pictures(norms=False), (1, 3), 4)]
)
def test_replicas_of_stages(processes, network, cut, passes):
    """Stages differ in parameters; those of a replica have all of them."""
    answers = trained(processes, pipeline.train, network, cut, passes, 2, members=4)
    plan = Plan(pipeline=2, data=2, micro_batch=network.batch // (2 * passes))
    expected = asked(model_of(network), plan, batch=network.batch)
    first, same, last, also = sent_by(answers)
    assert first == same
    assert last == also
    assert (
        first["gradients replicas"] + last["gradients replicas"] == expected["gradients replicas"]
    )
    assert first["pipeline forward"] == expected["pipeline forward"]
    assert last["pipeline backward"] == expected["pipeline backward"]
