"""The library: every entry builds, says where it comes from, and helps with its name."""

import re
from pathlib import Path

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import SampleKind, aliases, build, entries, find, spellings

BIBLIOGRAPHY = Path(__file__).parents[3] / "docs" / "references.bib"
KEYS = set(re.findall(r"^@\w+\{([^,]+),", BIBLIOGRAPHY.read_text(), re.MULTILINE))


def sample(name):
    return {SampleKind.TOKENS: {"sequence": 512}, SampleKind.IMAGE: {"image": 224}}.get(
        entries()[name].reads, {}
    )


def test_entry_builds_a_model_of_its_name_with_a_source():
    for name in entries():
        model = build(name, **sample(name))
        assert (model.name, model.source) == (name, entries()[name].source), name
        assert re.split("[,;]", entries()[name].source)[0] in KEYS, name


def test_alias_is_another_spelling_of_an_entry():
    for alias, name in aliases().items():
        assert find(alias) is entries()[name]
        assert alias not in entries()


def test_no_spelling_stands_for_two_models():
    told = [(spelling, name) for name in entries() for spelling in {*spellings(name)}]
    assert len({spelling for spelling, _ in told}) == len(told)


@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("meta-llama/Llama-3.1-8B", "llama-3-8b"),
        ("META-LLAMA/llama-3.1-8b-instruct", "llama-3-8b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"),
        ("Qwen/Qwen2.5-7B", "qwen2.5-7b"),
        ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"),
        ("google/gemma-2-9b", "gemma-2-9b"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("openai-community/gpt2", "gpt-2-124m"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("microsoft/phi-1_5", "phi-1.5"),
    ],
)
def test_repository_of_a_model_is_its_name(repository, name):
    assert find(repository) is entries()[name]


def test_every_repository_has_an_organisation_and_is_of_an_entry():
    repositories = [each for entry in entries().values() for each in entry.repositories]
    assert len(repositories) > 100
    assert all(each.count("/") == 1 for each in repositories)


@pytest.mark.parametrize("name", ["Llama-3-70B", "llama_3_70b", " llama 3 70b "])
def test_spelling_of_a_name_is_forgiven(name):
    assert find(name) is entries()["llama-3-70b"]


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
