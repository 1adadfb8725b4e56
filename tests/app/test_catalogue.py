"""The verb `catalogue`: everything that studies may name, each with its sources."""

import pytest

from foretrain.app.catalogue import catalogue
from foretrain.errors import InputError


def test_catalogue_lists_devices_clusters_trainers_and_models():
    entries = catalogue().entries
    assert {entry.kind for entry in entries} == {"device", "cluster", "trainer", "model"}
    assert {"a100-sxm-80gb", "dgx-h100", "llama-3-70b"} <= {entry.name for entry in entries}
    assert all(entry.summary for entry in entries)


@pytest.mark.parametrize(
    ("name", "found", "key"),
    [
        ("H100 SXM 80GB", "h100-sxm", "peak.bf16"),
        ("DGX-A100", "dgx-a100", "levels[1].link.capacity"),
        ("gpt-3", "gpt-3-175b", "heads"),
    ],
)
def test_one_entry_tells_where_each_number_comes_from(name, found, key):
    [entry] = catalogue(name).entries
    assert entry.name == found
    assert key in {figure.key for figure in entry.figures}
    assert all(figure.source for figure in entry.figures)


def test_cluster_tells_its_device_and_its_levels():
    [entry] = catalogue("gb200-nvl72").entries
    names = [text for key, text in entry.words.items() if key.endswith("].name")]
    assert entry.words["device"] == "gb200"
    assert names == ["node", "rack", "fabric"]
    assert entry.words["levels[0].link.technology"] == "nvlink"
    assert entry.words["levels[0].link.in_network"] == "yes"


def numbers(name):
    [entry] = catalogue(name).entries
    return {figure.key: figure.value for figure in entry.figures}


def test_every_model_has_its_parameters():
    for entry in catalogue("models").entries:
        known = {figure.key: figure.value for figure in entry.figures}
        assert known["parameters"] > 0
        assert known.get("active_parameters", 1) <= known["parameters"]
        assert len(known) == len(entry.figures)
        assert not any("[" in key or not key for key in known)


def test_model_with_experts_tells_all_and_active_parameters():
    known = numbers("mixtral-8x7b")
    assert (known["parameters"], known["active_parameters"]) == (46_702_792_704, 12_879_925_248)
    assert (known["experts.count"], known["experts.chosen"]) == (8, 2)
    assert (known["attention.heads"], known["attention.kv_heads"]) == (32, 8)
    assert "active_parameters" not in numbers("llama-3-8b")


def test_sizes_that_differ_between_layers_are_all_told():
    assert numbers("resnet-50")["blocks"] == "3, 4, 6, 3"
    deepseek = numbers("deepseek-v3")
    assert (deepseek["feed_forward.width"], deepseek["experts.width"]) == (18432, 2048)


def test_here_is_this_machine(monkeypatch):
    node = {"name": "node", "members": 1, "link": {"technology": "custom", "duplex": False}}
    described = {"device": {"name": "cpu", "memory": "16 GiB", "units": 2}, "levels": [node]}
    monkeypatch.setattr("foretrain.study.here.here", lambda: described)
    [entry] = catalogue("here").entries
    assert entry.words == {
        "device.name": "cpu",
        "levels[0].name": "node",
        "levels[0].link.technology": "custom",
        "levels[0].link.duplex": "no",
    }
    assert numbers("here") == {"device.memory": "16 GiB", "device.units": 2, "levels[0].members": 1}


def test_every_name_of_the_list_finds_its_entry():
    for entry in catalogue().entries:
        assert catalogue(entry.name).entries == (entry,)


@pytest.mark.parametrize("kind", ["devices", "clusters", "models"])
def test_kind_lists_all_entries_of_that_kind(kind):
    entries = catalogue(kind).entries
    assert {f"{entry.kind}s" for entry in entries} == {kind}
    assert entries == tuple(entry for entry in catalogue().entries if f"{entry.kind}s" == kind)


def test_entries_of_a_family_stand_together():
    found = [(entry.kind, entry.family) for entry in catalogue().entries]
    changes = [pair for pair, before in zip(found, [None, *found], strict=False) if pair != before]
    assert len(changes) == len(set(found))


def test_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match=r"has no 'lama-3-8b'\. Did you mean 'llama-3-8b'\?"):
        catalogue("lama-3-8b")
    with pytest.raises(InputError, match="has no ''"):
        catalogue("")
