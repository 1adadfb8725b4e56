"""`foretrain estimate`."""

import json

import pytest
from tests import builders


def test_json_stands_alone_on_stdout(foretrain, study):
    ended = foretrain("estimate", study, "--json")
    answer = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert answer["schema"] == "foretrain/estimate/1"
    assert answer["step_time"] == builders.estimate().step_time


def test_errors_of_the_verb_name_the_file_like_those_of_the_reader(foretrain, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 64\nsequence = 4096\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 2\n[plan]\ntensor = [1, 2]\n'
    )
    ended = foretrain("estimate", path)
    assert ended.code == 1
    assert ended.err.splitlines() == [
        f"error: {path} has 2 problems.",
        "- plan.tensor: has 2 choices (1, 2); give one value.",
        '- plan.micro_batch: is missing; give one value, or use "foretrain search".',
    ]


def test_report_is_plain_lines_where_nobody_sees_colours(foretrain, study):
    ended = foretrain("estimate", study)
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert all(line == line.rstrip() for line in ended.out.splitlines())
    assert "10.9 s" in ended.out


def test_no_color_is_honoured_where_colours_are_forced(foretrain, study, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = foretrain("estimate", study).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" in coloured
    assert "\x1b[36m" not in foretrain("estimate", study).out


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_number_that_is_not_finite_is_no_answer(foretrain, study, monkeypatch, options):
    endless = builders.estimate(energy_per_step=float("inf"))
    monkeypatch.setattr("foretrain.step.estimate.estimate", lambda study, **_: endless)
    ended = foretrain("estimate", study, *options)
    assert (ended.code, ended.out) == (1, "")
    assert "energy_per_step of the answer is inf" in ended.err
