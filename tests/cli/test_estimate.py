"""`foretrain estimate`."""

import json

from tests import builders


def test_json_stands_alone_on_stdout(foretrain, study):
    ended = foretrain("estimate", study, "--json")
    answer = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert answer["schema"] == "foretrain/estimate/1"
    assert answer["step_time"] == builders.estimate().step_time


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
