"""The section [cluster] of a study: levels filled with nodes, and mistakes told by their key."""

import pytest

from foretrain.errors import InputError
from foretrain.study.catalogue import cluster, names
from foretrain.study.study import read_study, study_from

WORKLOAD = {
    "model": "resnet-50",
    "image": 224,
    "global_batch": 64,
    "precision": "fp32",
    "optimizer": "sgd",
}
PCIE = {"technology": "pcie", "latency": "5 us", "bandwidth": "32 GB/s"}
NODE = {"name": "node", "members": 8, "link": PCIE}
RACK = {"name": "rack", "members": 16, "link": PCIE}
FABRIC = {"name": "fabric", "link": PCIE}


def read(**section):
    return study_from({"workload": WORKLOAD, "cluster": section}, "study").cluster


def refusal(**section):
    with pytest.raises(InputError) as found:
        read(**section)
    return str(found.value)


def members(found):
    return [(level.name, level.members) for level in found.levels]


def test_study_has_the_levels_of_the_catalogue():
    for name in names()["clusters"]:
        for nodes in [1, 64]:
            assert read(name=name, nodes=nodes).levels == cluster(name, nodes).levels, (name, nodes)


@pytest.mark.parametrize(
    ("name", "nodes", "levels"),
    [
        ("gb200-nvl72", 18, [("node", 4), ("rack", 18), ("fabric", 1)]),
        ("gb200-nvl72", 64, [("node", 4), ("rack", 16), ("fabric", 4)]),
        ("abci", 1088, [("node", 4), ("leaf", 17), ("rack", 2), ("fabric", 32)]),
        ("tpu-v5p-pod", 64, [("node", 4), ("pod", 64), ("fabric", 1)]),
    ],
)
def test_nodes_of_a_study_fill_every_level(tmp_path, name, nodes, levels):
    path = tmp_path / "study.toml"
    path.write_text(
        '[workload]\nmodel = "resnet-50"\nimage = 224\nglobal_batch = 64\nprecision = "fp32"\n'
        f'[cluster]\nname = "{name}"\nnodes = {nodes}\n'
    )
    assert members(read_study(path).cluster) == levels


def test_nodes_that_leave_a_domain_uneven_are_refused_alone():
    assert refusal(name="gb200-nvl72", nodes=19) == (
        "study: cluster.nodes: 19 nodes do not spread evenly over groups of at most 18. "
        "Take 18 or 20."
    )


def test_other_device_keeps_the_levels_of_the_catalogue():
    found = read(name="gb200-nvl72", nodes=18, device="h100-sxm")
    assert (found.device.name, found.levels) == ("h100-sxm", cluster("gb200-nvl72", 18).levels)


def test_own_levels_take_the_place_of_the_catalogues():
    found = read(name="gb200-nvl72", nodes=32, levels=[NODE, RACK, FABRIC])
    assert members(found) == [("node", 8), ("rack", 16), ("fabric", 2)]
    assert found.device == cluster("gb200-nvl72", 1).device


@pytest.mark.parametrize("named", [{}, {"name": "lab"}, {"nodes": 2}])
def test_device_without_levels_is_told_that_they_are_missing(named):
    assert refusal(device="h100-sxm", **named) == (
        "study: cluster.levels: is missing. Describe [[cluster.levels]], or name a cluster of the "
        "catalogue. One device alone has no links: nodes = 1 and no name."
    )


def test_misspelt_cluster_with_a_device_is_told_the_nearest_name():
    assert "levels: is missing." in refusal(name="dgx-h10", device="h100-sxm", nodes=2)
    assert "Did you mean 'dgx-h100'?" in refusal(name="dgx-h10", device="h100-sxm", nodes=2)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"power": {"pue": 0.5}}, "cluster.power.pue: must be at least 1, got 0.5."),
        ({"mtbf": "0 s"}, "cluster.mtbf: must be above 0 s, got 0.0."),
        (
            {"levels": [{**NODE, "members": 0}, RACK, FABRIC]},
            "cluster.levels[0].members: must be at least 1, got 0.",
        ),
        (
            {"levels": [{**NODE, "link": {**PCIE, "bandwidth": "0 GB/s"}}, FABRIC]},
            "cluster.levels[0].link.bandwidth: must be above 0 bytes/s, got 0.0.",
        ),
    ],
)
def test_value_out_of_its_range_is_told_by_the_key_of_the_study(section, told):
    assert refusal(name="dgx-h100", nodes=2, **section) == f"study: {told}"
