"""One step by each strategy is one step of one process, and sends what the cost model says."""

from itertools import accumulate

import pytest
from tests.executor.asked import asked
from tests.executor.equality import sent_by, trained
from tests.executor.models import model_of
from tests.executor.networks import Pictures, Text
from tests.executor.strategies import context, data, expert, pipeline, sharded, tensor
from tests.executor.training import weighty

from foretrain.plan.plan import ContextExchange, Plan, Sharding

NORMED, PLAIN, TEXT = Pictures(norms=True), Pictures(norms=False), Text()
NETWORKS = pytest.mark.parametrize("network", [NORMED, PLAIN, TEXT], ids=["norms", "plain", "text"])


@pytest.mark.parametrize("network", [NORMED, PLAIN, TEXT, Text(experts=4)])
def test_model_of_the_cost_model_has_as_many_parameters(network):
    weights = [each.weights.values() for each in weighty(network.layers())]
    assert model_of(network).parameters == sum(w.size for values in weights for w in values)


@NETWORKS
@pytest.mark.parametrize("degree", [2, 4])
def test_replicas_learn_what_one_process_learns(processes, network, degree):
    answers = trained(processes, data.train, network, degree, members=degree)
    expected = asked(model_of(network), Plan(data=degree), batch=network.batch)
    assert sent_by(answers) == [expected] * degree


@NETWORKS
@pytest.mark.parametrize("shard", [2, 4])
@pytest.mark.parametrize(
    ("kind", "reshard"),
    [
        (Sharding.OPTIMIZER, True),
        (Sharding.GRADIENTS, True),
        (Sharding.PARAMETERS, True),
        (Sharding.PARAMETERS, False),
    ],
)
def test_sharded_replicas_learn_what_one_process_learns(processes, network, shard, kind, reshard):
    passes = 2 if network is PLAIN else 1
    plan = Plan(
        data=4,
        sharding=kind,
        shard=shard,
        reshard=reshard,
        micro_batch=network.batch // (4 * passes),
    )
    answers = trained(
        processes, sharded.train, network, *(4, shard, int(kind), reshard, passes), members=4
    )
    assert sent_by(answers) == [asked(model_of(network), plan, batch=network.batch)] * 4


@pytest.mark.parametrize(
    ("network", "cut", "micro_batches"),
    [
        (TEXT, (2, 2), 1),
        (Text(blocks=4), (2, 1, 1, 2), 4),
        (PLAIN, (1, 3), 4),
        (NORMED, (1, 3), 1),
        (NORMED, (1, 2, 1), 1),
    ],
)
def test_stages_learn_what_one_process_learns(processes, network, cut, micro_batches):
    """The cost model takes the largest of all pictures for what every stage hands on."""
    answers = trained(processes, pipeline.train, network, cut, micro_batches, members=len(cut))
    plan = Plan(pipeline=len(cut), micro_batch=network.batch // micro_batches)
    model = model_of(network)
    expected = asked(model, plan, batch=network.batch)
    outputs = [layer.output for layer in model.layers for _ in range(layer.repeats)]
    handed = [outputs[end - 1] / max(outputs) for end in accumulate(cut[:-1])]
    for place, each in enumerate(sent_by(answers)):
        assert each.pop("pipeline forward", 0) == sum(
            share * expected["pipeline forward"] for share in handed[place : place + 1]
        )
        assert each.pop("pipeline backward", 0) == sum(
            share * expected["pipeline backward"] for share in handed[:place][-1:]
        )
        assert not each


@pytest.mark.parametrize("sequence", [False, True])
def test_tensor_members_learn_what_one_process_learns(processes, sequence):
    answers = trained(processes, tensor.train, TEXT, 2, sequence, members=2)
    plan = Plan(tensor=2, sequence_parallel=sequence, micro_batch=TEXT.batch)
    assert sent_by(answers) == [asked(model_of(TEXT), plan, batch=TEXT.batch)] * 2


@pytest.mark.parametrize(
    ("core", "exchange", "degree"),
    [
        (context.Ring, ContextExchange.RING, 2),
        (context.Ring, ContextExchange.RING, 4),
        (context.Gathered, ContextExchange.ALL_GATHER, 2),
        (context.Gathered, ContextExchange.ALL_GATHER, 4),
        (context.Heads, ContextExchange.ALL_TO_ALL, 2),
    ],
)
def test_members_of_the_context_axis_learn_what_one_process_learns(
    processes, core, exchange, degree
):
    answers = trained(processes, context.train, TEXT, degree, core, members=degree)
    plan = Plan(context=degree, exchange=exchange, micro_batch=TEXT.batch)
    assert sent_by(answers) == [asked(model_of(TEXT), plan, batch=TEXT.batch)] * degree


@pytest.mark.parametrize("chosen", [1, 2])
@pytest.mark.parametrize(("degree", "data_degree"), [(2, 2), (2, 4)])
def test_members_that_share_experts_learn_what_one_process_learns(
    processes, chosen, degree, data_degree
):
    network = Text(experts=4, chosen=chosen)
    answers = trained(processes, expert.train, network, data_degree, degree, members=data_degree)
    plan = Plan(data=data_degree, expert=degree, micro_batch=network.batch // data_degree)
    assert sent_by(answers) == [asked(model_of(network), plan, batch=network.batch)] * data_degree
