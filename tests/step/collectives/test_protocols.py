"""Protocols for short messages: which links carry them, and what they leave of latency and rate."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.step.collective import exchange
from foretrain.step.collectives.network import network
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT

TERMS = DEFAULT.protocols


def chosen(place, *, members, size):
    found = exchange([np.array([float(count)]) for count in members], network(place, DEFAULT))
    return str(found.choice(np.array([size]), Pattern.ALL_REDUCE)[0])


def test_flags_cost_bandwidth_and_save_latency():
    net = network(cluster("dgx-a100", nodes=2), DEFAULT)
    over = net.over(net.protocols[0])
    assert over.start == TERMS.ll_start
    assert over.piece == 0.0
    # nvidia-nccl, tuning.cc: 0.6 of 3.4 us over NVLink, 2.7 of 14 between nodes; A100 carry 87.7 of
    # 240 GB/s by LL, where a half would be 120.
    shorter, narrower = (1.0, 2.7 / 14 / (0.6 / 3.4)), (87.7 / 120, 1.0)
    levels = zip(net.wires, over.wires, shorter, narrower, strict=True)
    for before, after, hop, share in levels:
        assert after.latency == pytest.approx(TERMS.ll_hop * hop * before.latency)
        assert after.alone == pytest.approx(TERMS.ll_share * share * before.alone)
        assert after.share == pytest.approx(TERMS.ll_share * share * before.share)
        assert after.adding == 0.0


def test_short_messages_take_flags_and_long_ones_do_not():
    place = cluster("dgx-h100", nodes=2)
    sizes = (1e4, 1.6e7, 1e9)
    assert [chosen(place, members=(8, 8), size=size) for size in sizes] == [
        "ring LL",
        "ring LL128",
        "in-network",
    ]
    assert chosen(place, members=(8, 16), size=1e4) == "tree LL"
    assert chosen(place, members=(8, 16), size=1e9) == "in-network-tree"


def test_links_out_of_order_carry_no_flags():
    place = cluster("aws-p4de-24xlarge", nodes=2)
    assert chosen(place, members=(8, 8), size=1e4) == "ring LL"
    assert "LL" not in chosen(place, members=(8, 16), size=1e4)
    node, fabric = place.levels
    ordered = replace(
        place, levels=(node, replace(fabric, link=replace(fabric.link, ordered=True)))
    )
    assert chosen(ordered, members=(8, 16), size=1e4) == "tree LL"


def test_other_libraries_have_no_protocols_for_short_messages():
    inner = network(cluster("tpu-v4-pod", nodes=1), DEFAULT).wires[0]
    assert inner.carries == frozenset()


def test_library_of_amd_waits_longer():
    frontier = cluster("frontier", nodes=2)
    links, net = [level.link for level in frontier.levels], network(frontier, DEFAULT)
    assert net.start == pytest.approx(TERMS.rccl_wait * DEFAULT.links.start)
    assert net.wires[0].latency == pytest.approx(TERMS.rccl_wait * links[0].latency)
    between = TERMS.rccl_wait * TERMS.ethernet_hop * links[2].latency
    assert net.wires[2].latency == pytest.approx(between)
