"""`foretrain search` of a study with scenarios, and with `--robust`."""

import json

import pytest

from foretrain.app.schema import schema_of

STUDY = """
[workload]
model = "llama-3-8b"
global_batch = 48
sequence = 4096

[cluster]
name = "dgx-h100"
nodes = 2

[plan]
context = 1
interleaving = 1
recompute = ["none", "full"]
attention = "flash"
sharding = ["optimizer", "parameters"]
order = ["tensor", "context", "data", "pipeline"]

[[scenario]]
name = "a node is out"
cluster = { nodes = 1 }
"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(STUDY)
    return path


def test_scenarios_stand_below_the_answer(foretrain, small):
    ended = foretrain("search", small, "--keep", 3)
    assert ended.code == 0
    answer, _, scenarios = ended.out.partition("The best plan of each scenario")
    assert "Best plan: " in answer
    assert "a node is out" in scenarios
    assert "best of as given" in scenarios
    assert "coefficient is not what we think" not in ended.out


def test_robust_choice_stands_last(foretrain, small):
    ended = foretrain("search", small, "--keep", 2, "--robust")
    assert "whatever one coefficient does" in " ".join(ended.out.split()[-120:])


def test_document_has_further_keys_where_they_are_asked_for(foretrain, small, tmp_path):
    told = json.loads(foretrain("search", small, "--keep", 2, "--json", "--robust").out)
    assert [each["name"] for each in told["scenarios"]["answers"]] == ["as given", "a node is out"]
    assert told["scenarios"]["least"]["worst"] >= 0
    assert len(told["robust"]["worst"]) == 2
    described = schema_of("search")
    assert set(told) == set(described["properties"])
    assert set(told["scenarios"]) == set(described["$defs"]["Scenarios"]["properties"])
    assert set(told["robust"]["swings"][0]) == set(described["$defs"]["Swing"]["properties"])


def test_document_answers_nothing_that_nobody_asked_for(foretrain, study):
    told = json.loads(foretrain("search", study, "--json").out)
    assert (told["scenarios"], told["robust"], told["why_not"]) == (None, None, [])


def test_scenarios_are_part_of_the_question(foretrain, small):
    told = json.loads(foretrain("search", small, "--keep", 1, "--json").out)
    small.write_text(STUDY.partition("[[scenario]]")[0])
    alone = json.loads(foretrain("search", small, "--keep", 1, "--json").out)
    assert told["inputs"] != alone["inputs"]
    assert told["best"] == alone["best"]


def test_page_has_both(foretrain, small, tmp_path):
    page = tmp_path / "page.html"
    assert foretrain("search", small, "--keep", 2, "--robust", "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert 'id="scenarios"' in text
    assert 'id="robust"' in text


@pytest.mark.parametrize("more", ['[search]\nmaximise = "micro_batch"\n'])
def test_scenarios_of_a_study_without_a_ranking_are_refused(foretrain, small, more):
    small.write_text(STUDY.replace("[[scenario]]", f"{more}[[scenario]]"))
    ended = foretrain("search", small)
    assert ended.code == 1
    assert "scenario[0]: scenarios compare the plans of rankings" in ended.err


def test_robust_choice_needs_a_ranking(foretrain, small):
    base = STUDY.partition("[[scenario]]")[0]
    small.write_text(f'{base}[search]\nmaximise = "micro_batch"\n')
    ended = foretrain("search", small, "--robust")
    assert ended.code == 1
    assert "robust: only for one size" in ended.err
