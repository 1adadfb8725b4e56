"""`foretrain scale`."""

import json
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "parameter-servers.toml"


def test_json_holds_the_curve(foretrain):
    ended = foretrain("scale", EXAMPLE, "--json")
    document = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert document["schema"] == "foretrain/scale/1"
    assert [each["workers"] for each in document["points"]] == [1, 2, 4, 8, 16, 32]
    keys = {"workers", "throughput", "low", "high", "variance", "efficiency", "limit"}
    assert keys <= set(document["points"][0])
    assert {"points", "knee", "bounds"} <= set(document)
    assert document["worker"]["link"] == document["servers"]["link"] == 2.5e9


def test_report_and_page_say_where_the_knee_is(foretrain, tmp_path):
    page = tmp_path / "page.html"
    ended = foretrain("scale", EXAMPLE, "--html", page)
    assert ended.code == 0
    assert "The knee is at 7.1 workers" in ended.out
    text = page.read_text()
    assert "The knee is at 7.1 workers" in text
    assert "samples/s against workers" in text


def test_errors_name_the_file(foretrain, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("[scale]\nworkers = [1]\n")
    ended = foretrain("scale", path)
    assert ended.code == 1
    assert ended.err.startswith(f"error: {path}: worker: is missing.")
