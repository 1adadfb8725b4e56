"""Answers in a notebook: one line, a table, a data frame, and a clear word where there is none."""

from dataclasses import replace

import pytest
from tests import builders
from tests.needs import needs

import foretrain
from foretrain.errors import InputError
from foretrain.show.document import plain

STUDY = {
    "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096},
    "cluster": {"name": "dgx-h100", "nodes": 2},
    "plan": {"tensor": 4, "micro_batch": 1},
}


@pytest.fixture(scope="module")
def answers():
    study = foretrain.study_from(STUDY)
    return {
        "estimate": foretrain.estimate(study),
        "search": foretrain.search(study, keep=2),
        "explain": foretrain.explain(study),
        "compare": foretrain.compare(study, foretrain.study_from({**STUDY, "plan": {}})),
    }


def test_a_study_is_made_of_a_dictionary():
    study = foretrain.study_from(STUDY)
    assert study.workload.model.name == "llama-3-8b"
    wrong = {**STUDY["workload"], "globl_batch": 3}
    with pytest.raises(InputError, match=r"the study: workload\.globl_batch"):
        foretrain.study_from({**STUDY, "workload": wrong})


@pytest.mark.parametrize("verb", ["estimate", "search", "explain", "compare"])
def test_python_shows_an_answer_in_one_short_line(answers, verb):
    line = repr(answers[verb])
    assert "\n" not in line
    assert len(line) <= 120
    assert line.startswith(f"<{type(answers[verb]).__name__}: ")


def test_the_line_says_the_figures_that_matter():
    assert repr(builders.estimate()) == "<Estimate: step 10.9 s, memory 42.5 GiB, MFU 64 %>"


@pytest.mark.parametrize("verb", ["estimate", "search", "explain", "compare"])
def test_a_notebook_draws_a_table(answers, verb):
    drawn = answers[verb]._repr_html_()
    assert "<table>" in drawn
    assert "<script" not in drawn
    assert "step" in drawn


def test_names_in_a_table_are_text_and_not_html():
    plan = builders.search_result().plans[0]
    nasty = builders.search_result(plans=(replace(plan, name="<b>best</b>"),))
    assert "<b>best</b>" not in nasty._repr_html_()


@pytest.mark.parametrize("verb", ["estimate", "search", "explain", "compare"])
def test_a_dictionary_is_the_document(answers, verb):
    assert answers[verb].to_dict() == plain(answers[verb])


def test_without_pandas_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("foretrain.show.document.find_spec", lambda _name: None)
    with pytest.raises(InputError, match="pip install pandas"):
        builders.estimate().to_pandas()


def test_a_data_frame_has_a_row_for_each_row_and_the_keys_of_the_document(answers):
    needs("pandas")
    frame = answers["search"].to_pandas()
    assert len(frame) == len(answers["search"].plans)
    assert frame["estimate.step_time"][0] == answers["search"].plans[0].estimate.step_time
    one = answers["estimate"].to_pandas()
    assert one["memory.total"][0] == answers["estimate"].memory.total
    falls = answers["explain"].to_pandas()
    assert falls["seconds"].sum() == pytest.approx(answers["estimate"].step_time)
