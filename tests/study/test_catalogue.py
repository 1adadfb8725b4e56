"""The catalogue: entries are whole, numbers have sources, every spelling finds its entry."""

import re
import tomllib
from functools import cache
from importlib import resources

import pytest

from foretrain.errors import InputError
from foretrain.study.catalogue import (
    ABOUT,
    cluster,
    device,
    figures,
    find,
    names,
    spellings,
    summary,
)

HARDWARE = ("devices", "clusters")
ENTRIES = [(kind, name) for kind in HARDWARE for name in names()[kind]]


def test_device_of_the_catalogue_is_complete():
    for name in names()["devices"]:
        known = device(name)
        assert known.name == name, name
        peak = known.peak
        assert 0 < peak.fp32 <= max(peak.bf16 or 0, peak.fp16 or 0, peak.fp32), name


def test_nodes_of_a_cluster_are_those_that_were_asked_for():
    for name in names()["clusters"]:
        for nodes in [1, 2, 64, 128]:
            known = cluster(name, nodes=nodes)
            assert known.nodes == nodes, (name, nodes)
            assert known.devices == nodes * known.node_devices, (name, nodes)
            assert known.levels[-1].name == "fabric", (name, nodes)


def test_every_number_has_a_source_and_a_confidence():
    for kind, name in ENTRIES:
        known = figures(kind, name)
        assert all(
            figure.source and figure.confidence in {"high", "medium", "low"} for figure in known
        ), (kind, name)
        assert all(figure.date for figure in known if figure.key == "price"), (kind, name)
        assert summary(kind, name), (kind, name)


def bare_numbers(value):
    """Numbers of an entry that stand without a source."""
    if isinstance(value, dict):
        parts = [] if "value" in value else value.items()
        return [x for key, item in parts if key not in ABOUT for x in bare_numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in bare_numbers(item)]
    return [value] if re.match(r"[0-9.]", str(value)) else []


@cache
def families(kind):
    """The files of a kind, as they are written."""
    folder = resources.files("foretrain") / "cluster" / "catalogue" / kind
    return [tomllib.loads(file.read_text("utf-8")) for file in folder.iterdir()]


def test_no_number_stands_without_a_source():
    for kind, name in ENTRIES:
        [entry] = [family[name] for family in families(kind) if name in family]
        assert bare_numbers(entry) == [], (kind, name)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("A100 SXM 80GB", "a100-sxm-80gb"),
        ("A100 SXM 40GB", "a100-sxm-40gb"),
        ("H100 SXM 80GB", "h100-sxm"),
        ("V100 SXM 16GB", "v100-sxm2-16gb"),
        ("V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("h100_sxm", "h100-sxm"),
    ],
)
def test_spelling_of_the_measurement_tables_finds_the_device(spelling, name):
    assert find("devices", spelling) == name


PRINTED = {
    # As torch.cuda.get_device_name has them: names of the tuned kernels in sglang 0.5.23.
    "NVIDIA H200": "h200-sxm",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb",
    "NVIDIA A100-SXM4-40GB": "a100-sxm-40gb",
    "AMD Instinct MI325X": "mi325x",
    "AMD Instinct MI300X": "mi300x",
    "NVIDIA GB300": "gb300",
    "NVIDIA GB200": "gb200",
    "NVIDIA L40S": "l40s",
    "NVIDIA L40": "l40",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA_GeForce_RTX_4090": "rtx-4090",
    "NVIDIA B300 SXM6 AC": "b300",
    "NVIDIA H200 NVL": "h200-nvl",
    # As the driver has those that the catalogue had already, with the words that it puts before.
    "Tesla V100-SXM2-32GB": "v100-sxm2-32gb",
    "Tesla V100-SXM2-16GB": "v100-sxm2-16gb",
    "Tesla V100S-PCIE-32GB": "v100s",
    "Tesla P100-PCIE-16GB": "p100-pcie",
    "Tesla T4": "t4",
    "Tesla K80": "k80",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA A10G": "a10g",
    "NVIDIA L4": "l4",
    "NVIDIA RTX A6000": "rtx-a6000",
    "NVIDIA GeForce RTX 3090": "rtx-3090",
    "NVIDIA GeForce GTX 1080 Ti": "gtx-1080-ti",
    "NVIDIA TITAN V": "titan-v",
    "NVIDIA TITAN X (Pascal)": "titan-x-pascal",
    "NVIDIA GeForce GTX TITAN X": "titan-x-maxwell",
    "NVIDIA GH200 480GB": "gh200",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA A800-SXM4-80GB": "a800-sxm-80gb",
    "NVIDIA H800": "h800-sxm",
    "NVIDIA H20": "h20",
    "NVIDIA GH200 144G HBM3e": "gh200-141gb",
    "NVIDIA RTX 6000 Ada Generation": "rtx-6000-ada",
    "NVIDIA RTX A5000": "rtx-a5000",
    "NVIDIA A10": "a10",
    "NVIDIA A30": "a30",
    "NVIDIA A40": "a40",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "NVIDIA GeForce RTX 2080 Ti": "rtx-2080-ti",
    "NVIDIA GeForce GTX 1080": "gtx-1080",
    "Quadro RTX 8000": "quadro-rtx-8000",
    "Tesla V100-PCIE-16GB": "v100-pcie-16gb",
    "Tesla V100-PCIE-32GB": "v100-pcie-32gb",
    "Tesla P100-SXM2-16GB": "p100-sxm2",
    "Tesla P40": "p40",
    "Tesla K40m": "k40",
    "NVIDIA TITAN Xp": "titan-xp",
    "AMD Instinct MI355X": "mi355x",
    # As jax.Device.device_kind has them: tpu_info.py of jax 0.10.2.
    "TPU v2": "tpu-v2",
    "TPU v3": "tpu-v3",
    "TPU v4": "tpu-v4",
    "TPU v5 lite": "tpu-v5e",
    "TPU v5": "tpu-v5p",
    "TPU v6 lite": "tpu-v6e",
    "TPU7x": "tpu-v7x",
    # As tables of measured runs have them.
    "H100-SXM5-80GB": "h100-sxm",
    "A100 80GB SXM4": "a100-sxm-80gb",
    "MI250X (GCD)": "mi250x",
    "Pascal Titan X": "titan-x-pascal",
    "Habana Gaudi HL-205": "gaudi",
}


@pytest.mark.parametrize("printed", PRINTED)
def test_names_that_tools_print_are_understood(printed):
    assert find("devices", printed) == PRINTED[printed]


@pytest.mark.parametrize("maker", ["NVIDIA ", "NVIDIA GeForce ", "Tesla ", "AMD Instinct "])
def test_a_device_may_be_called_with_its_maker(maker):
    for name in names()["devices"]:
        assert find("devices", maker + name) == name


@pytest.mark.parametrize(
    "name", ["NVIDIA H20Z", "NVIDIA A100", "NVIDIA A100-80GB", "V100-32GB", "NVIDIA L20Y", "NVIDIA"]
)
def test_a_device_that_is_not_known_or_could_be_two_is_refused(name):
    with pytest.raises(InputError, match="unknown device"):
        find("devices", name)


@pytest.mark.parametrize("kind", names())
def test_no_spelling_stands_for_two_entries(kind):
    told = [(spelling, entry) for entry in names()[kind] for spelling in {*spellings(kind, entry)}]
    assert len({spelling for spelling, _ in told}) == len(told)


def test_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match=r"unknown cluster 'dgx-a10'\. Did you mean 'dgx-a100'\?"):
        cluster("dgx-a10", nodes=1)
    with pytest.raises(InputError, match="nodes must be at least 1, got 0"):
        cluster("dgx-a100", nodes=0)


def test_numbers_of_the_dgx_a100_are_those_of_its_data_sheet():
    known = cluster("dgx-a100", nodes=2)
    node, fabric = (level.link for level in known.levels)
    assert known.device.peak.bf16 == 312e12
    assert node.bandwidth == 300e9
    assert (fabric.bandwidth, fabric.capacity) == (25e9, 200e9)
    assert (node.latency, fabric.latency) == (3.4e-6, 14e-6)
    assert known.node_power == 6500.0


def test_devices_behind_one_ethernet_port_share_it():
    fabric = cluster("ethernet-100g", nodes=2).levels[1].link
    assert fabric.bandwidth == fabric.capacity == 12.5e9


def members(name, nodes):
    return [(level.name, level.members) for level in cluster(name, nodes=nodes).levels]


def test_eighteen_nodes_of_four_share_one_nvlink_domain():
    assert members("gb200-nvl72", 18) == [("node", 4), ("rack", 18), ("fabric", 1)]
    assert members("gb200-nvl72", 64) == [("node", 4), ("rack", 16), ("fabric", 4)]
    node, domain, _ = (level.link for level in cluster("gb200-nvl72", nodes=18).levels)
    assert domain.bandwidth == node.bandwidth == 900e9
    assert domain.in_network


def test_latency_of_abci_grows_with_the_switches_that_a_span_crosses():
    spans = cluster("abci", nodes=1024).levels
    assert [level.name for level in spans] == ["node", "leaf", "rack", "fabric"]
    assert [level.link.latency for level in spans] == [9e-6, 30.31e-6, 30.49e-6, 30.98e-6]
    assert [level.link.bandwidth for level in spans] == [50e9, 12.5e9, 12.5e9, 12.5e9]


def test_abci_has_a_third_of_full_bisection_between_racks():
    _, leaf, rack, fabric = cluster("abci", nodes=1088).levels
    assert rack.link.capacity == leaf.members * leaf.link.capacity
    assert fabric.link.capacity == pytest.approx(rack.members * rack.link.capacity / 3, rel=1e-3)


def test_switches_reduce_where_nvlink_has_sharp():
    for name, reduces in (("dgx-a100", False), ("dgx-h100", True), ("hgx-b200", True)):
        assert cluster(name, nodes=1).levels[0].link.in_network is reduces


def test_nodes_that_leave_a_domain_uneven_are_refused_with_the_nearest_numbers():
    with pytest.raises(InputError, match=r"cluster 'gb200-nvl72': 19 nodes .* Take 18 or 20\."):
        cluster("gb200-nvl72", nodes=19)


def test_what_describes_a_node_fits_its_devices():
    for name in names()["clusters"]:
        known = cluster(name, nodes=1)
        rated = (known.device.power or 0.0) * known.node_devices
        assert known.node_power is None or known.node_power > rated, name
        host = known.host
        assert host is None or host.memory_bandwidth >= host.device_bandwidth, name
        assert (known.price is None) == (known.price_date is None), name


@pytest.mark.parametrize(
    ("name", "links", "each", "dimensions"),
    [
        # GB/s in one direction; v2 by the nominal 496 Gb/s, the others as jax-ml/scaling-book has
        # them in tpus.md.
        ("tpu-v2-pod", 4, 62.0, 2),
        ("tpu-v3-pod", 4, 100.0, 2),
        ("tpu-v4-pod", 6, 45.0, 3),
        ("tpu-v5e-pod", 4, 50.0, 2),
        ("tpu-v5p-pod", 6, 100.0, 3),
        ("tpu-v6e-pod", 4, 100.0, 2),
        ("tpu-v7x-pod", 6, 100.0, 3),
    ],
)
def test_chip_of_a_torus_has_all_of_its_links(name, links, each, dimensions):
    node, pod, _ = cluster(name, nodes=64).levels
    for level in (node, pod):
        assert level.link.bandwidth == pytest.approx(links * each * 1e9)
        assert level.link.dimensions == dimensions
        assert links == 2 * dimensions
