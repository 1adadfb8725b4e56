"""The key `groups` of [cluster]: two kinds of devices in one study."""

from datetime import date

import pytest

from foretrain.errors import InputError
from foretrain.study.study import study_from

TODAY = date(2026, 11, 21)
GROUPS = [{"name": "dgx-a100", "nodes": 16}, {"name": "dgx-h100", "nodes": 8}]
LINK = {"latency": "10 us", "bandwidth": "10 GB/s", "technology": "ethernet"}
BOX = {
    "device": "a100-sxm-80gb",
    "levels": [
        {
            "name": "node",
            "members": 8,
            "link": {"latency": "5 us", "bandwidth": "300 GB/s", "technology": "nvlink"},
        }
    ],
}


def study(plan=None, **cluster):
    document = {
        "workload": {"model": "llama-3-8b", "global_batch": 250, "sequence": 4096},
        "cluster": {"groups": GROUPS, **cluster},
        "plan": plan or {},
    }
    return study_from(document, "study.toml", today=TODAY)


def test_groups_are_two_clusters_of_their_own():
    found = study()
    assert [each.name for each in found.mixed.kinds] == ["dgx-a100", "dgx-h100"]
    assert [each.nodes for each in found.mixed.kinds] == [16, 8]
    assert found.cluster == found.mixed.first
    assert found.mixed.name == "dgx-a100 and dgx-h100"
    assert found.offers == ()


def test_name_and_link_stand_beside_the_groups():
    found = study(name="old and new", link=LINK).mixed
    assert found.name == "old and new"
    assert found.link.bandwidth == 10e9


def test_what_is_assumed_of_both_is_told():
    told = "; ".join(study().assumed)
    assert "cluster.price of dgx-a100" in told
    assert "cluster.price of dgx-h100" in told
    assert "cluster.link = the slower of the outermost levels of both groups" in told
    assert "cluster.link" not in "; ".join(study(link=LINK).assumed)


def test_replicas_of_both_need_not_divide_the_batch():
    assert study(plan={"data": 24}).space.data == (24,)


def test_study_of_one_cluster_has_one_kind():
    document = {
        "workload": {"model": "llama-3-8b", "global_batch": 256, "sequence": 4096},
        "cluster": {"name": "dgx-h100", "nodes": 2},
    }
    assert study_from(document, "study.toml").mixed is None


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"groups": 2}, r"cluster\.groups: 2 is not a list of two tables"),
        ({"groups": [*GROUPS, GROUPS[0]]}, r"3 groups; foretrain prices two kinds"),
        ({"groups": [GROUPS[0], "dgx-h100"]}, r"groups\[1\]: 'dgx-h100' is not a table"),
        ({"groups": [GROUPS[0], {"name": "dgx-h100"}]}, r"groups\[1\]\.nodes: is missing"),
        ({"groups": [GROUPS[0], {"name": "dgx-h10", "nodes": 1}]}, r"groups\[1\]\.name: .*Did you"),
        ({"nodes": 4}, r"cluster\.nodes: stands beside groups; write it in each of them"),
        ({"link": 3}, r"cluster\.link: 3 is not a table"),
        ({"link": {**LINK, "bandwidth": 9}}, r"cluster\.link\.bandwidth: .*unit"),
        ({"groups": [GROUPS[0], BOX]}, r"cluster\.link: 'inline' has no level outside its node"),
    ],
)
def test_mistakes_are_told_where_they_stand(cluster, message):
    with pytest.raises(InputError, match=message):
        study(**cluster)


def test_groups_of_a_plan_are_refused_with_the_key_that_says_the_same():
    with pytest.raises(InputError, match=r"plan\.groups: unknown key; write \[cluster\] groups"):
        study(plan={"groups": [1]})
