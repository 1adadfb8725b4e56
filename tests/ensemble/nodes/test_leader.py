import socket

import pytest
from tests.needs import needs

from foretrain.ensemble.nodes.leader import Leader, leader_from_environment
from foretrain.errors import InputError

PLAIN = {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


def test_environment_describes_the_node():
    expected = Leader(rank=2, nodes=4, address="10.0.0.1", port=29500)
    assert leader_from_environment(PLAIN) == expected


def test_first_process_of_each_node_leads():
    launched = PLAIN | {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    leader = leader_from_environment(launched)
    assert (leader.rank, leader.nodes) == (1, 2)
    assert type(leader.rank) is type(leader.nodes) is int
    with pytest.raises(InputError, match="only the first process of a node leads"):
        leader_from_environment(launched | {"LOCAL_RANK": "1"})


def test_port_of_torchrun_is_served_by_torchrun():
    launched = PLAIN | {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "3"}
    leader = leader_from_environment(launched)
    assert leader.hosted
    assert leader.launch == "3"


def test_missing_variables_are_named_together():
    with pytest.raises(InputError, match="WORLD_SIZE, MASTER_PORT not set"):
        leader_from_environment({"RANK": "0", "MASTER_ADDR": "localhost"})


@pytest.mark.parametrize("wrong", [{"rank": 2}, {"rank": -1}, {"timeout": 0.0}])
def test_leader_that_cannot_be_is_refused(wrong):
    with pytest.raises(InputError, match="Leader"):
        Leader(**{"rank": 0, "nodes": 2} | wrong)


def test_port_that_another_program_has_is_named():
    needs("torch")
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be served"):
            Leader(rank=0, nodes=1, port=port).meet("x")
