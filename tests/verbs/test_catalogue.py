"""The verb `catalogue`: everything that studies may name, each with its sources."""

import pytest

from foretrain.errors import InputError
from foretrain.verbs.catalogue import catalogue


def test_catalogue_lists_devices_clusters_and_models():
    entries = catalogue().entries
    assert {entry.kind for entry in entries} == {"device", "cluster", "model"}
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
