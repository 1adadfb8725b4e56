"""NCCL's own tables, by hand: generations of links, switches that add up, hops, protocols."""

from dataclasses import replace

import numpy as np
import pytest
from tests.collective_groups import inside

from foretrain.step.collectives import in_network, rings
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import network
from foretrain.step.collectives.tuning import NVLINK_ROW, PCIE_ROW, carried, hop
from foretrain.study.catalogue import cluster, device
from foretrain.study.coefficients import PRIORS

BEFORE = PRIORS.coefficients
"""What was known before any fit: NCCL's own numbers."""

GB = 1e9


@pytest.mark.parametrize(
    ("name", "links", "each"),
    [
        ("dgx-1-p100", 4, 18),
        ("dgx-1-v100", 6, 20),
        ("dgx-a100", 12, 20),
        ("dgx-h100", 18, 20.6),
        ("hgx-b200", 18, 40.1),
    ],
)
def test_links_of_a_generation_reach_what_topo_h_says(name, links, each):
    # nvidia-nccl, src/graph/topo.h lines 19 to 24: GB/s of each link.
    wire = network(cluster(name, nodes=1), BEFORE).wires[0]
    assert wire.alone == pytest.approx(links * each * GB)


def test_bridge_of_two_cards_reaches_twelve_of_fourteen():
    place = cluster("dgx-a100", nodes=1)
    bridged = replace(place, device=device("rtx-a6000"))
    ratio = network(bridged, BEFORE).wires[0].alone / network(place, BEFORE).wires[0].alone
    assert ratio == pytest.approx(12 / 14 / 0.8)


@pytest.mark.parametrize(
    ("name", "nodes", "share"),
    [
        ("dgx-h100", 1, 0.85 * 15 / 16),
        ("hgx-b200", 1, 0.74 * 23 / 24),
        ("hgx-b200", 2, 0.74 * 31 / 32),
    ],
)
def test_switches_add_up_at_an_efficiency_times_all_channels_but_one(name, nodes, share):
    # nvidia-nccl, tuning.cc nvlsEfficiency; transport/nvls.cc: 16 channels, 24 or 32 on Blackwell.
    wire = network(cluster(name, nodes=nodes), BEFORE).wires[0]
    assert wire.adding / wire.share == pytest.approx(share, rel=1e-3)


def test_lines_of_128_bytes_need_a_node_all_of_nvlink_and_volta():
    # nvidia-nccl, tuning.cc: enabling of protocols.
    def carries(name):
        return [wire.carries for wire in network(cluster(name, nodes=2), BEFORE).wires]

    both, flags = frozenset({"LL", "LL128"}), frozenset({"LL"})
    assert carries("dgx-a100") == [both, both]
    assert carries("dgx-1-p100") == [flags, flags]
    assert carries("pcie-8x-a100")[0] == flags
    assert all("LL128" not in each for each in carries("pcie-8x-a100-bridged"))


@pytest.mark.parametrize(
    ("algorithm", "protocol", "row", "written"),
    [
        ("ring", "LL", NVLINK_ROW, 0.6 / 3.4),
        ("ring", "LL", PCIE_ROW, 1.0 / 5.7),
        ("ring", "LL", "network", 2.7 / 14),
        ("tree", "LL", "network", 5.0 / 14),
        ("ring", "LL128", NVLINK_ROW, 1.9 / 3.4),
        ("tree", "LL128", NVLINK_ROW, 1.25 / 3.4),
        ("tree", "LL128", "network", 8.5 / 14),
    ],
)
def test_hops_are_those_of_the_table(algorithm, protocol, row, written):
    share = {"LL": BEFORE.protocols.ll_hop, "LL128": BEFORE.protocols.ll128_hop}[protocol]
    assert share * hop(algorithm, protocol, row) == pytest.approx(written, rel=3e-3)


def test_trees_carry_less_by_short_protocols_than_rings():
    assert BEFORE.protocols.ll_share * carried("tree", "LL", "network") == pytest.approx(0.92 / 3.8)
    assert carried("tree", "LL128", NVLINK_ROW) == pytest.approx(7 / 9)
    assert carried("ring", "LL128", NVLINK_ROW) == 1.0


def test_flags_leave_two_nodes_at_thirty_gigabytes_a_second():
    net = network(cluster("dgx-h100", nodes=4), BEFORE)
    over = net.over(net.protocols[0])
    two = rings.byte_time(group(inside(8, 16), over))[0]
    four = rings.byte_time(group(inside(8, 32), over))[0]
    assert two == pytest.approx(BEFORE.protocols.ll_between)
    # tuning.cc, llMaxBws: 20.4 GB/s over more than two nodes where 39 is over two.
    assert four / two == pytest.approx(39 / 20.4)
    # One device of each node: its own adapter of 50 GB/s is narrower than that.
    alone = rings.byte_time(group(inside(1, 2), over))[0]
    assert alone == pytest.approx(1 / (0.92 * 50 * GB / 2))


def test_pieces_below_switches_halve_from_four_nodes_and_double_between_few_devices_of_blackwell():
    # nvidia-nccl, transport/nvls.cc: 64 KiB from 4 nodes on; 256 KiB on sm100, two nodes of four.
    hopper = network(cluster("dgx-h100", nodes=4), BEFORE)

    def pieces(net, *members):
        return in_network.all_reduce_over_trees(group(inside(*members), net)).at_once[0]

    assert [pieces(hopper, 8, nodes * 8) for nodes in (2, 3, 4)] == [8.0, 8.0, 4.0]
    blackwell = network(cluster("hgx-b200", nodes=2), BEFORE)
    assert (pieces(blackwell, 8, 16), pieces(blackwell, 4, 8)) == (8.0, 8.0)
    assert pieces(hopper, 4, 8) == 4.0


def test_ring_of_an_all_reduce_leaves_nodes_as_often_as_twice_around_does():
    # nvidia-nccl, tuning.cc: 2 x nodes of the 2 (n - 1) steps lead between nodes.
    net = network(cluster("dgx-a100", nodes=4), BEFORE)
    members = group(inside(8, 32), net)
    fabric, node = 14e-6, 3.4e-6
    written = 2 * 4 * fabric + (2 * 31 - 2 * 4) * node
    assert rings.ring_all_reduce(members).fixed[0] == pytest.approx(written)


def test_trees_by_long_messages_have_the_hops_of_the_cluster():
    members = group(inside(8, 16), network(cluster("dgx-a100", nodes=2), BEFORE))
    assert rings.tree_all_reduce(members).hops[0] == pytest.approx(2 * (7 * 3.4e-6 + 14e-6))
    assert np.isfinite(rings.tree_all_reduce(members).way).all()
