"""The catalogue: entries are whole, numbers have sources, every spelling finds its entry."""

import re
import tomllib
from importlib import resources

import pytest

from foretrain.errors import InputError
from foretrain.files.catalogue import ABOUT, cluster, device, figures, find, names, summary

ENTRIES = [(kind, name) for kind, known in names().items() for name in known]


@pytest.mark.parametrize("name", names()["devices"])
def test_device_of_the_catalogue_is_complete(name):
    known = device(name)
    assert known.name == name
    assert 0 < known.peak.fp32 <= max(known.peak.bf16 or 0, known.peak.fp16 or 0, known.peak.fp32)


@pytest.mark.parametrize("name", names()["clusters"])
@pytest.mark.parametrize("nodes", [1, 2, 64, 128])
def test_nodes_of_a_cluster_are_those_that_were_asked_for(name, nodes):
    known = cluster(name, nodes=nodes)
    assert known.nodes == nodes
    assert known.devices == nodes * known.node_devices
    assert known.levels[-1].name == "fabric"


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_number_has_a_source_and_a_confidence(kind, name):
    known = figures(kind, name)
    assert all(figure.source and figure.confidence in {"high", "medium", "low"} for figure in known)
    assert all(figure.date for figure in known if figure.key == "price")
    assert summary(kind, name)


def bare_numbers(value):
    """Numbers of an entry that stand without a source."""
    if isinstance(value, dict):
        parts = [] if "value" in value else value.items()
        return [x for key, item in parts if key not in ABOUT for x in bare_numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in bare_numbers(item)]
    return [value] if re.match(r"[0-9.]", str(value)) else []


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_no_number_stands_without_a_source(kind, name):
    folder = resources.files("foretrain") / "cluster" / "catalogue" / kind
    families = [tomllib.loads(file.read_text("utf-8")) for file in folder.iterdir()]
    [entry] = [family[name] for family in families if name in family]
    assert bare_numbers(entry) == []


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


@pytest.mark.parametrize("name", names()["clusters"])
def test_what_describes_a_node_fits_its_devices(name):
    known = cluster(name, nodes=1)
    rated = (known.device.power or 0.0) * known.node_devices
    assert known.node_power is None or known.node_power > rated
    assert known.host is None or known.host.memory_bandwidth >= known.host.device_bandwidth
    assert (known.price is None) == (known.price_date is None)
