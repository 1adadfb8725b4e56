"""What may be rented: names, numbers of nodes and offers of a study, each mistake with its key."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.offer import whole
from foretrain.errors import InputError
from foretrain.plan.study import Limit
from foretrain.study.catalogue import cluster, names
from foretrain.study.study import read_study, study_from

WORKLOAD = {"model": "llama-3-8b", "global_batch": 1024, "sequence": 8192}
FEW = {"nodes": [2, 4]}
TODAY = date(2026, 11, 21)
LIST = """
[clusters.dgx-h100]
price = "2.10 USD/h"
date = 2026-10-01

[devices.mi300x]
price = "1.50 USD/h"
date = 2026-10-01
"""


def read(*, search=None, plan=None, workload=WORKLOAD, **section):
    document = {
        "workload": workload,
        "cluster": section,
        "search": search or {},
        "plan": plan or {},
    }
    return study_from(document, "study", today=TODAY)


def rented(study):
    return [(offer.cluster.name, offer.nodes) for offer in study.offers]


def refusal(**asked):
    with pytest.raises(InputError) as found:
        read(**asked)
    head, *lines = str(found.value).splitlines()
    return [line.removeprefix("- ") for line in lines] or [head.removeprefix("study: ")]


def test_one_number_of_nodes_leaves_no_choice():
    found = read(name="dgx-h100", nodes=64)
    assert found.offers == ()
    assert found.choices == (whole(found.cluster),)
    assert read(name=["dgx-h100"], nodes=[64]) == found


def test_listed_numbers_of_nodes_may_be_rented():
    found = read(name="dgx-h100", nodes=[64, 16, 32])
    assert rented(found) == [("dgx-h100", (16, 32, 64))]
    assert found.cluster == cluster("dgx-h100", nodes=64)


@given(least=st.integers(1, 40), more=st.integers(1, 40))
def test_range_holds_every_number_between_its_ends(least, more):
    found = read(name="dgx-h100", nodes={"least": least, "most": least + more})
    assert rented(found) == [("dgx-h100", tuple(range(least, least + more + 1)))]


def test_range_without_least_begins_with_one_node():
    assert rented(read(name="dgx-h100", nodes={"most": 3})) == [("dgx-h100", (1, 2, 3))]


def test_range_leaves_out_what_cannot_be_spread_over_the_levels():
    found = read(name="gb200-nvl72", nodes={"least": 18, "most": 20})
    assert sorted(rented(found)) == [("gb200-nvl72", (18,)), ("gb200-nvl72", (20,))]


def test_every_size_is_that_of_the_catalogue():
    study = read(name=["abci", "dgx-h100", "titan"], nodes=[34, 68], workload=SINGLE)
    for offer in study.offers:
        for devices, nodes in zip(offer.devices, offer.nodes, strict=True):
            assert offer.of(devices) == cluster(offer.cluster.name, nodes)


SINGLE = {
    "model": "resnet-50",
    "image": 224,
    "global_batch": 64,
    "precision": "fp32",
    "optimizer": "sgd",
}


def test_names_share_what_the_section_says():
    found = read(name=["dgx-h100", "dgx-a100"], price="2 USD/h", nodes=[4, 8])
    assert rented(found) == [("dgx-h100", (4, 8)), ("dgx-a100", (4, 8))]
    assert {offer.cluster.price for offer in found.offers} == {2 / 3600}


def test_largest_cluster_of_the_first_offer_is_the_cluster_of_the_study():
    found = read(name=["gb200-nvl72", "dgx-h100"], nodes={"most": 36})
    assert found.cluster == cluster("gb200-nvl72", nodes=36) == found.offers[0].cluster


def test_offer_replaces_the_keys_beside_it():
    offers = [{"name": "dgx-h100", "nodes": [16, 32]}, {"name": "dgx-a100", "price": "1 USD/h"}]
    first, second = read(nodes=8, price="2 USD/h", offers=offers).offers
    assert (first.nodes, first.cluster.price) == ((16, 32), 2 / 3600)
    assert (second.nodes, second.cluster.price) == ((8,), 1 / 3600)


def test_offer_with_a_price_needs_none_of_the_list_beside_it(tmp_path):
    (tmp_path / "prices.toml").write_text(LIST)
    (tmp_path / "study.toml").write_text(
        '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 64\nsequence = 2048\n'
        '[cluster]\nnodes = 8\nprices = "prices.toml"\n'
        '[[cluster.offers]]\nname = "dgx-h100"\n'
        '[[cluster.offers]]\nname = "dgx-a100"\nprice = "1 USD/h"\n'
    )
    found = read_study(tmp_path / "study.toml", today=TODAY)
    assert [offer.cluster.price for offer in found.offers] == [2.1 / 3600, 1 / 3600]


def test_own_clusters_may_be_offered_too():
    link = {"technology": "pcie", "latency": "5 us", "bandwidth": "32 GB/s"}
    levels = [{"name": "node", "members": 8, "link": link}, {"name": "fabric", "link": link}]
    offers = [{"name": f"lab-{device}", "device": device} for device in ("l40s", "a40")]
    found = read(levels=levels, nodes=[2, 4], offers=offers)
    assert rented(found) == [("lab-l40s", (2, 4)), ("lab-a40", (2, 4))]


def test_any_is_every_cluster_that_can_answer():
    found = read(name="any", nodes=2)
    able = {name for name in names()["clusters"] if cluster(name, 2).device.peak.bf16}
    assert {name for name, _ in rented(found)} == able
    assert any(
        text.startswith(f"cluster.name = any: one of {len(able)}, ") for text in found.assumed
    )


def test_any_leaves_out_clusters_without_a_price_where_cost_counts():
    found = read(name="any", nodes=2, search={"objective": "cost"})
    assert all(offer.cluster.price is not None for offer in found.offers)


def test_any_beside_a_price_list_is_every_cluster_that_it_prices(tmp_path):
    (tmp_path / "prices.toml").write_text(LIST)
    (tmp_path / "study.toml").write_text(
        '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 64\nsequence = 2048\n'
        '[cluster]\nname = "any"\nnodes = [2, 4]\nprices = "prices.toml"\n'
    )
    found = read_study(tmp_path / "study.toml", today=TODAY)
    assert {offer.cluster.name for offer in found.offers} == {
        "dgx-h100",
        "mi300x-node",
        "azure-nd96isr-mi300x-v5",
    }
    assert found.cluster.price in (2.1 / 3600, 1.5 / 3600)


def test_any_that_cannot_answer_at_all_is_told_why():
    [told] = refusal(name="any", nodes=2, search={"limit": {"devices": 1}})
    assert told.startswith("search.limit.devices: 1 is too few: the smallest choice, ")


def test_price_of_each_cluster_is_told_by_its_name():
    told = read(name=["dgx-h100", "dgx-a100"], **FEW).assumed
    assert [text.partition(" = ")[0] for text in told if text.startswith("cluster.price of")] == [
        "cluster.price of dgx-h100",
        "cluster.price of dgx-a100",
    ]


def test_every_limit_is_read():
    limit = {
        "devices": 512,
        "cost": "2 MUSD",
        "deadline": "30 d",
        "memory": "70 GiB",
        "power": "2 MW",
    }
    found = read(
        name="dgx-h100",
        nodes=2,
        search={"limit": limit},
        workload={**WORKLOAD, "amount": "1 T tokens"},
    )
    assert found.limit == Limit(
        devices=512, cost=2e6, deadline=30 * 86400.0, memory=70 * 2.0**30, power=2e6
    )


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"nodes": []}, ["cluster.nodes: an empty list leaves nothing to rent."]),
        ({"nodes": [2, 0]}, ["cluster.nodes: 0 is not between 1 and 1000000000."]),
        ({"nodes": [2, 2]}, ["cluster.nodes: [2, 2] names a choice twice."]),
        ({"nodes": ["2"]}, ["cluster.nodes: '2' is not a whole number."]),
        ({"nodes": {}}, ["cluster.nodes.most: is missing."]),
        (
            {"nodes": {"min": 2, "most": 4}},
            ["cluster.nodes.min: unknown key. Known: least, most."],
        ),
        (
            {"nodes": {"least": 5, "most": 4}},
            ["cluster.nodes.least: must not be above most, got 5."],
        ),
        (
            {"nodes": {"most": 10**9}},
            ["cluster.nodes.most: must be below least + 131,072, got 1,000,000,000."],
        ),
        ({"nodes": 2, "name": []}, ["cluster.name: an empty list names no cluster."]),
        ({"nodes": 2, "name": ["dgx-h100", 3]}, ["cluster.name: 3 is not a text."]),
        (
            {"nodes": 2, "name": ["dgx-h100", "dgx-h100"]},
            [
                "cluster.name: dgx-h100 with 2 nodes is offered twice; an answer could not "
                "tell which."
            ],
        ),
        (
            {"nodes": [18, 19, 23], "name": "gb200-nvl72"},
            [
                "cluster.nodes: 19 nodes do not spread evenly over groups of at most 18. "
                "Take 18 or 20.",
                "cluster.nodes: 23 nodes do not spread evenly over groups of at most 18. "
                "Take 22 or 24.",
            ],
        ),
        (
            {"nodes": {"least": 19, "most": 19}, "name": "gb200-nvl72"},
            [
                "cluster.nodes: 19 nodes do not spread evenly over groups of at most 18. "
                "Take 18 or 20."
            ],
        ),
        ({"offers": 3}, ["cluster.offers: 3 is not a list of tables."]),
        ({"offers": []}, ["cluster.offers: [] is not a list of tables."]),
        (
            {"offers": [3, {"nodes": 2}]},
            ["cluster.offers[0]: 3 is not a table of keys and values."],
        ),
    ],
)
def test_mistake_is_told_with_its_key(section, told):
    assert refusal(**{"name": "dgx-h100", **section}) == told


def test_mistake_of_an_offer_stands_at_the_offer_and_a_shared_one_at_the_section():
    offers = [
        {"name": "dgx-h100", "price": "2 USD"},
        {"name": "dgx-a100", "nodse": 3, "nodes": 2},
        {"name": "dgx-h10", "nodes": [2]},
        {},
    ]
    told = refusal(nodes=[0], node_power="x", offers=offers)
    assert [text.partition(": ")[0] for text in told] == [
        "cluster.nodes",
        "cluster.offers[0].price",
        "cluster.node_power",
        "cluster.offers[1].nodse",
        "cluster.offers[2].name",
        "cluster.offers[3].name",
    ]


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({"objective": "cost"}, "search.objective: cost needs cluster.price, such as"),
        ({"limit": {"cost": "2 USD"}}, "search.limit.cost: cost needs cluster.price, such as"),
    ],
)
def test_offer_without_a_price_is_told_by_name(search, told):
    line, *_ = refusal(name=["dgx-h100", "hgx-h200"], search=search, **FEW)
    assert line.startswith(told)
    assert line.endswith(" hgx-h200 has none.")


def test_offer_without_power_figures_is_told_by_name():
    search = {"limit": {"power": "1 MW"}}
    [line] = refusal(name=["dgx-h100", "aws-g6-48xlarge"], search=search, **FEW)
    assert line == (
        'search.limit.power: power needs cluster.node_power, such as "6.5 kW". '
        "aws-g6-48xlarge has none."
    )


def test_degrees_must_suit_some_number_of_devices():
    assert read(name="dgx-h100", nodes=[3, 4], plan={"data": 32}).offers
    [told] = refusal(name="dgx-h100", nodes=[2, 4], plan={"data": 64})
    assert told == "plan.data: 64 does not divide the cluster's 16 or 32 devices."
    [told] = refusal(name="dgx-h100", nodes={"most": 7}, plan={"data": 64})
    assert told.endswith("does not divide the cluster's 8 to 56 (one of 7 numbers) devices.")
