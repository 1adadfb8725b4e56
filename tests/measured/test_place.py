"""The machine that stands in for that of a row."""

from math import prod

import pytest
from tests.measured.runs import CATALOGUE

from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.place import TEMPLATES, cluster_of
from foretrain.measured.run import Place
from foretrain.study.catalogue import cluster


def found(**place):
    return cluster_of(Place(**place), CATALOGUE, Assumptions())


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.cluster)
def test_every_template_is_a_cluster_with_nodes(template):
    assert "node" in [level.name for level in cluster(template.cluster, 1).levels]


@pytest.mark.parametrize(
    ("place", "name", "members"),
    [
        ({"device": "K80", "devices": 4, "node_devices": 4}, "aws-p2-8xlarge", (4, 1)),
        ({"device": "V100 SXM 16GB", "devices": 16, "node_devices": 8}, "dgx-1-v100", (8, 2)),
        ({"device": "V100 SXM 32GB", "devices": 32, "node_devices": 16}, "dgx-2", (16, 2)),
        ({"device": "H100 SXM 80GB", "devices": 4, "node_devices": 4}, "hgx-h100-4x", (4, 1)),
        ({"device": "A40", "devices": 24, "node_devices": 24}, "pcie-8x-a40", (24, 1)),
        (
            {"device": "H200 NVL 141GB", "devices": 3, "node_devices": 3},
            "pcie-8x-h200-nvl",
            (1, 3, 1),
        ),
        ({"device": "GB200", "devices": 64, "node_devices": 4}, "gb200-nvl72", (4, 16, 1)),
        ({"device": "GB300", "devices": 256, "node_devices": 4}, "gb300-nvl72", (4, 16, 4)),
        ({"device": "TPU v4", "devices": 64, "node_devices": 64}, "tpu-v4-pod", (4, 16, 1)),
    ],
)
def test_a_row_is_placed_on_the_machine_that_resembles_its_own(place, name, members):
    placed = found(**place)
    assert placed.name == name
    assert tuple(level.members for level in placed.levels) == members
    assert prod(members) == place["devices"]


@pytest.mark.parametrize("device", ["GTX 1080", "Quadro RTX 8000", "Titan Xp", "Trainium 3"])
def test_a_device_alone_needs_no_cluster(device):
    placed = found(device=device, devices=1)
    assert placed.devices == placed.nodes == 1
    with pytest.raises(NotCovered, match=f"no cluster of '{device}' is in the catalogue"):
        found(device=device, devices=2, node_devices=2)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ({"device": "RTX A6000", "devices": 2, "node_devices": 2}, "pcie-8x-rtx-a6000"),
        ({"device": "RTX 4090", "devices": 1}, "pcie-8x-rtx-4090"),
        ({"device": "TPU v6e", "devices": 512, "node_devices": 4}, "tpu-v6e-pod"),
        ({"device": "Graphcore Bow IPU", "devices": 16, "node_devices": 16}, "bow-pod"),
        ({"device": "H20", "devices": 8, "node_devices": 8}, "hgx-h20"),
        ({"device": "H200 SXM 141GB", "devices": 8, "node_devices": 8}, "hgx-h200"),
        ({"device": "A100 SXM 80GB", "devices": 8, "node_devices": 8}, "dgx-a100"),
        ({"device": "A10", "devices": 8, "node_devices": 8}, "pcie-8x-a10"),
    ],
)
def test_small_boxes_and_slices_have_their_own_machine(place, name):
    assert found(**place).name == name


def test_words_for_the_links_tell_machines_of_one_device_apart():
    place = {"device": "V100 SXM 32GB", "devices": 8, "node_devices": 8}
    assert found(**place, node_link="NVSwitch/NVLink 2").name == "dgx-2"
    assert found(**place, node_link="NVLink 2 hybrid cube mesh").name == "dgx-1-v100"
    assert found(**place, fabric="Omni-Path (Jean Zay)").name == "jean-zay-v100"


def test_adapters_that_a_row_lists_give_the_rate_of_a_node():
    place = {"device": "A100 PCIe 80GB", "devices": 8, "node_devices": 4}
    link = found(**place, fabric="2x ConnectX-6 IB HDR 200Gb/Sec").levels[-1].link
    assert (link.bandwidth, link.capacity) == (25e9, 50e9)


def test_storage_adapters_are_not_the_fabric():
    place = {"device": "A100 SXM 80GB", "devices": 16, "node_devices": 8}
    stated = found(**place, fabric="Storage: 2x ConnectX-6 IB HDR 200Gb/sec").levels[-1].link
    assert stated == found(**place).levels[-1].link


@pytest.mark.parametrize(
    ("words", "alone", "node"),
    [
        (
            "Compute: 4 x Mellanox Technologies MT28908 Family [ConnectX-6] HDR 200 Gb/Sec",
            25e9,
            100e9,
        ),
        (
            "Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s",
            50e9,
            400e9,
        ),
        ("BF3 200Gbps for NS and 2xBF3 400Gbps for EW", 50e9, 100e9),
    ],
)
def test_adapters_for_training_count_wherever_they_are_listed(words, alone, node):
    place = {"device": "A100 SXM 80GB", "devices": 16, "node_devices": 8}
    link = found(**place, fabric=words).levels[-1].link
    assert (link.bandwidth, link.capacity) == (alone, node)


def test_nodes_that_no_machine_can_hold_evenly_are_not_covered():
    with pytest.raises(NotCovered, match="spread"):
        found(device="GB200", devices=4 * 1009, node_devices=4)
