"""Members that share pictures, filters or channels learn what one process learns."""

from math import prod

import pytest
from tests.executor.asked import asked
from tests.executor.equality import busiest, sent_by, trained
from tests.executor.models import model_of
from tests.executor.networks import Pictures, Pooling, Stage
from tests.executor.strategies import channels, spatial

from foretrain.plan.plan import ChannelSplit, Plan

NORMED, PLAIN = Pictures(norms=True), Pictures(norms=False)
AVERAGED = Pictures(norms=True, average=True)
WIDE = Pictures(
    norms=True,
    stages=(
        Stage(channels=8, size=5, padding=2, pooling=Pooling(size=2, stride=2)),
        Stage(channels=8, size=3, padding=2, dilation=2),
        Stage(channels=8, size=1, stride=2),
    ),
)
"""Windows that reach two pixels far, and one that reaches none and leaves pixels out."""

OVERLAPPING = Pictures(
    norms=True,
    stages=(
        Stage(channels=8, size=3, padding=1, pooling=Pooling(size=3, stride=2, padding=1)),
        Stage(channels=8, size=3, padding=1),
    ),
)
"""A pooling of which only the owner of a window knows which pixel was the largest."""

KINDS = {channels.Filters: ChannelSplit.FILTER, channels.Channels: ChannelSplit.CHANNEL}
GRIDS = pytest.mark.parametrize(
    ("data", "grid"), [(1, (2, 1)), (1, (1, 4)), (1, (2, 2)), (2, (2, 1)), (2, (1, 2))], ids=str
)


VOLUMES = Pictures(
    norms=True,
    batch=4,
    side=8,
    dimensions=3,
    stages=(
        Stage(channels=4, size=3, padding=1, pooling=Pooling(size=2, stride=2)),
        Stage(channels=4, size=3, stride=2, padding=1),
    ),
)


def assert_grid_is_serial_and_sends_what_is_asked(
    processes, network, split, data, grid, tensor=1, kind=channels.Filters
):
    members = data * prod(grid) * tensor
    answers = trained(
        processes, spatial.train, network, data, grid, split, tensor, kind, members=members
    )
    plan = Plan(
        data=data,
        tensor=tensor,
        convolutions=KINDS[kind],
        context=prod(grid),
        grid=grid,
        split=split,
        micro_batch=network.batch // data,
    )
    assert busiest(answers) == asked(model_of(network), plan, batch=network.batch)


@pytest.mark.parametrize("network", [NORMED, PLAIN, AVERAGED, WIDE, OVERLAPPING])
@pytest.mark.parametrize("split", [0, 1, 2])
@GRIDS
def test_grid_learns_what_one_process_learns(processes, network, split, data, grid):
    assert_grid_is_serial_and_sends_what_is_asked(processes, network, split, data, grid)


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("grid", [(2, 2, 1), (2, 1, 2), (1, 2, 2)], ids=str)
def test_grid_of_three_dimensions_learns_what_one_process_learns(processes, split, grid):
    assert_grid_is_serial_and_sends_what_is_asked(processes, VOLUMES, split, 1, grid)


@pytest.mark.parametrize("network", [NORMED, PLAIN, AVERAGED, WIDE])
@pytest.mark.parametrize("kind", [channels.Filters, channels.Channels])
@pytest.mark.parametrize("split", [0, 2])
def test_members_of_a_grid_share_channels_of_their_pixels(processes, network, kind, split):
    assert_grid_is_serial_and_sends_what_is_asked(
        processes, network, split, 1, (1, 2), tensor=2, kind=kind
    )


@pytest.mark.parametrize("network", [NORMED, PLAIN])
@pytest.mark.parametrize("kind", [channels.Filters, channels.Channels])
@pytest.mark.parametrize("split", [0, 2])
@pytest.mark.parametrize(("data", "tensor"), [(1, 2), (1, 4), (2, 2)])
def test_members_that_share_channels_learn_what_one_process_learns(
    processes, network, kind, split, data, tensor
):
    members = data * tensor
    answers = trained(
        processes, channels.train, network, data, tensor, kind, split, members=members
    )
    plan = Plan(
        data=data,
        tensor=tensor,
        convolutions=KINDS[kind],
        split=split,
        micro_batch=network.batch // data,
    )
    expected = asked(model_of(network), plan, batch=network.batch)
    assert sent_by(answers) == [expected] * members
