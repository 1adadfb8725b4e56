"""`foretrain catalogue` and `foretrain schema`."""

import json

import pytest
from tests import builders

from foretrain.show.document import document


def test_catalogue_lists_devices_clusters_and_models(foretrain):
    ended = foretrain("catalogue")
    assert ended.code == 0
    for name in ("h100", "dgx-h100", "llama-3-70b"):
        assert name in ended.out


@pytest.mark.parametrize(
    ("kind", "told"), [("devices", "312 TFLOP/s"), ("clusters", "6.88 USD/h"), ("models", "46.7 G")]
)
def test_kind_is_listed_with_its_main_figures(foretrain, kind, told):
    ended = foretrain("catalogue", kind)
    assert ended.code == 0
    assert told in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_cluster_shows_its_device_and_the_links_of_its_levels(foretrain):
    told = foretrain("catalogue", "dgx-h100").out
    assert "Device     h100-sxm" in told
    assert "node: nvlink, switch, adds up on the way" in told
    assert "fabric: infiniband, switch" in told
    assert "fabric.link.bandwidth" in told


@pytest.mark.parametrize("name", ["mixtral-8x7b", "nemotron-3-nano", "resnet-50", "t5-11b"])
def test_model_shows_its_parameters_and_no_paths(foretrain, name):
    told = foretrain("catalogue", name).out
    assert "parameters" in told
    assert "[0]" not in told
    assert max(map(len, told.splitlines())) <= 80


def test_entry_shows_its_numbers_with_their_sources(foretrain):
    ended = foretrain("catalogue", "dgx-h100", "--json")
    (entry,) = json.loads(ended.out)["entries"]
    assert entry["figures"]
    assert all(figure["source"] for figure in entry["figures"])


def test_unknown_entry_is_an_error_with_the_nearest_name(foretrain):
    ended = foretrain("catalogue", "dgx-h10")
    assert (ended.code, ended.out) == (1, "")
    assert "dgx-h100" in ended.err


@pytest.mark.parametrize("verb", ["study", "estimate", "search", "validate"])
def test_schema_is_json(foretrain, verb):
    ended = foretrain("schema", verb)
    assert ended.code == 0
    assert "properties" in json.loads(ended.out)


def test_schema_of_nothing_known_is_an_error(foretrain):
    ended = foretrain("schema", "estimat")
    assert ended.code == 1
    assert "estimate" in ended.err


@pytest.mark.parametrize(
    ("verb", "result"),
    [
        ("estimate", builders.estimate()),
        ("search", builders.search_result()),
        ("validate", builders.validation()),
    ],
)
def test_documents_have_exactly_the_keys_of_their_schema(foretrain, verb, result):
    schema = json.loads(foretrain("schema", verb).out)
    answer = document(verb, result, builders.provenance())
    assert list(answer) == schema["required"] == list(schema["properties"])
