"""The library: every entry builds, says where it comes from, and helps with its name."""

import re
from pathlib import Path

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import ALIASES, ENTRIES, build, find
from foretrain.workload.library.entry import Reads

BIBLIOGRAPHY = Path(__file__).parents[3] / "docs" / "references.bib"
KEYS = set(re.findall(r"^@\w+\{([^,]+),", BIBLIOGRAPHY.read_text(), re.MULTILINE))


def sample(name):
    return {Reads.TOKENS: {"sequence": 512}, Reads.IMAGE: {"image": 224}}.get(
        ENTRIES[name].reads, {}
    )


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_builds_a_model_of_its_name_with_a_source(name):
    model = build(name, **sample(name))
    assert (model.name, model.source) == (name, ENTRIES[name].source)
    assert ENTRIES[name].source.split(",")[0] in KEYS


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_alias_is_another_spelling_of_an_entry(alias, name):
    assert find(alias) is ENTRIES[name]
    assert alias not in ENTRIES


@pytest.mark.parametrize("name", ["Llama-3-70B", "llama_3_70b", " llama 3 70b "])
def test_spelling_of_a_name_is_forgiven(name):
    assert find(name) is ENTRIES["llama-3-70b"]


def test_unknown_name_is_refused_with_its_nearest_match():
    with pytest.raises(
        InputError, match=r"unknown model 'lama-3-70b'\. Did you mean 'llama-3-70b'"
    ):
        find("lama-3-70b")


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("resnet-50", {"sequence": 2048}, "reads images: give image"),
        ("resnet-50", {}, "reads images: give image"),
        ("llama-3-8b", {"image": 224}, "reads tokens: give sequence"),
        ("llama-3-8b", {}, "reads tokens: give sequence"),
    ],
)
def test_sample_of_the_wrong_kind_is_refused(name, shape, message):
    with pytest.raises(InputError, match=message):
        build(name, **shape)
