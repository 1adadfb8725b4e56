"""JSON Schema: what is printed is what is described."""

import json
import re

import pytest

from foretrain.answers import ANSWERS
from foretrain.app.catalogue import catalogue
from foretrain.app.schema import schema_of
from foretrain.errors import InputError
from foretrain.show.document import Provenance, document

VERBS = [answer.name for answer in ANSWERS]
NAMES = [*VERBS, "study", "collective-study", "queue-study", "ensemble-study"]


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_whole(name):
    text = json.dumps(schema_of(name))
    used = set(re.findall(r"#/\$defs/(\w+)", text))
    assert used <= set(schema_of(name)["$defs"])


@pytest.mark.parametrize("verb", VERBS)
def test_every_answer_tells_schema_version_inputs_and_coefficients(verb):
    required = schema_of(verb)["required"]
    assert required[:4] == ["schema", "foretrain", "inputs", "coefficients"]


def test_document_has_the_keys_of_its_schema():
    provenance = Provenance(version="0", inputs="0", coefficients="0")
    printed = document("catalogue", catalogue("dgx-a100"), provenance)
    described = schema_of("catalogue")
    assert list(printed) == list(described["properties"])
    assert printed["schema"] == described["properties"]["schema"]["const"]
    assert set(printed["entries"][0]) == set(described["$defs"]["CatalogueEntry"]["properties"])


def test_enumerations_are_described_by_the_names_that_are_printed():
    shared = schema_of("estimate")["$defs"]
    assert shared["Recompute"]["enum"] == ["none", "selective", "full"]
    assert shared["Plan"]["properties"]["recompute"]["default"] == "none"


def test_schema_of_a_study_has_its_sections():
    described = schema_of("study")
    sections = ["workload", "cluster", "trainer", "plan", "job", "search"]
    assert list(described["properties"]) == [*sections, "scenario"]
    assert list(described["properties"]["scenario"]["items"]["properties"]) == ["name", *sections]
    assert described["required"] == ["workload", "cluster"]
    assert described["properties"]["workload"]["required"] == ["model", "global_batch"]


def test_schema_of_a_collective_says_sizes_three_ways():
    described = schema_of("collective-study")
    assert described["required"] == ["collective", "cluster"]
    keys = described["properties"]["collective"]["properties"]
    assert list(keys) == ["kind", "bytes", "devices", "devices_per_process"]
    assert [way["type"] for way in keys["bytes"]["anyOf"]] == ["string", "array", "object"]


def test_schema_of_a_study_tells_what_may_be_rented():
    keys = schema_of("study")["properties"]["cluster"]["properties"]
    assert [kind["type"] for kind in keys["nodes"]["anyOf"]] == ["integer", "array", "object"]
    assert [kind["type"] for kind in keys["name"]["anyOf"]] == ["string", "array"]
    assert set(keys["offers"]["items"]["properties"]) == set(keys) - {"offers", "groups", "link"}


def test_unknown_verb_is_refused_with_the_nearest_one():
    with pytest.raises(InputError, match=r"no schema of 'serach'\. Did you mean 'search'\?"):
        schema_of("serach")


def test_schema_of_an_ensemble_lets_members_leave_out_what_all_have_in_common():
    described = schema_of("ensemble-study")
    assert described["required"] == ["ensemble", "members"]
    assert described["properties"]["members"]["items"]["required"] == ["name", "model"]
    assert "grid" in described["properties"]["members"]["items"]["properties"]
