import os

import pytest
from tests.needs import needs
from tests.nodes_at_work import free_port, on_nodes, on_threads

needs("torch")
from tests.ensemble.nodes import programs  # noqa: E402

from foretrain.ensemble.nodes.groups import NodeGroups  # noqa: E402
from foretrain.ensemble.nodes.leader import Leader, NodeLost  # noqa: E402
from foretrain.errors import InputError  # noqa: E402

OVERLAPPING = [[0, 1, 2], [2, 3, 4], [4, 0]]
OFTEN = 1000 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" or os.environ.get("CI") else 100


def test_random_operations_in_random_orders_end_with_the_right_bytes():
    assert on_threads(programs.operations, 5, OVERLAPPING, OFTEN, 7) == [0] * 5


def test_ring_of_groups_whose_members_wait_for_each_operation_does_not_lock():
    ring = [[0, 1], [1, 2], [2, 0]]
    assert on_nodes(programs.operations_of_threads, 3, ring, 5) == [20] * 3


def test_operation_that_a_member_never_issues_is_given_up_after_the_timeout():
    lonely, _ = on_threads(programs.lonely_operation, 2, timeout=1.5)
    assert isinstance(lonely, NodeLost)
    assert "rank 0 has issued lonely" in str(lonely)


def test_group_of_others_is_refused():
    with (
        NodeGroups([[0], [0]], leader=Leader(rank=0, nodes=1, port=free_port())) as groups,
        pytest.raises(InputError, match="not in group 2"),
    ):
        groups.gather(2, None, name="x")
