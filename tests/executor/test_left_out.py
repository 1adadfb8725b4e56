"""What members exchange that the cost model leaves out is little, and known."""

import pytest
from tests.executor.layers import BatchNorm
from tests.executor.networks import Pictures, Text
from tests.executor.strategies import data, expert, tensor
from tests.executor.training import weighty

WIDTH = 8


def sums(members):
    """Of the bytes that are added up, what one member sends."""
    return 2 * (members - 1) / members


@pytest.mark.parametrize("members", [2, 4])
def test_statistics_of_a_norm_are_two_numbers_per_channel_in_either_pass(processes, members):
    network = Pictures(norms=True)
    norms = [each for each in network.layers() if isinstance(each, BatchNorm)]
    channels = sum(each.weights["scale"].size for each in norms)
    for each in processes.run(data.train, members, network, members):
        assert each.sent["statistics"] == sums(members) * 2 * 2 * channels * WIDTH


def test_loss_over_a_divided_vocabulary_takes_three_numbers_per_token(processes):
    network = Text()
    for each in processes.run(tensor.train, 2, network, 2, False):
        assert each.sent["loss"] == 3 * network.targets.size * WIDTH
        assert "norms" not in each.sent


def test_norms_of_divided_tokens_have_their_gradients_added_up(processes):
    network = Text()
    scales = sum(
        each.weights["scale"].size for each in weighty(network.layers()) if "scale" in each.weights
    )
    for each in processes.run(tensor.train, 2, network, 2, True):
        assert each.sent["norms"] == sums(2) * scales * WIDTH


def test_tokens_of_experts_elsewhere_bring_one_weight_for_each_expert_there(processes):
    """And take its gradient home; half of the tokens of each block and member have to travel."""
    network = Text(experts=4)
    tokens = network.targets.size / 2
    for each in processes.run(expert.train, 2, network, 2, 2):
        assert each.sent["gates"] == 2 * network.blocks * tokens / 2 * 2 * WIDTH
