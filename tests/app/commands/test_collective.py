"""`foretrain estimate` of a study with [collective]."""

import json
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "all-reduce-on-16-h100.toml"


def test_json_holds_the_curve(foretrain):
    ended = foretrain("estimate", EXAMPLE, "--json")
    document = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert document["schema"] == "foretrain/collective/1"
    assert (document["kind"], document["devices"], document["nodes"]) == ("all-reduce", 16, 2)
    assert len(document["points"]) == 24
    assert {"bytes", "seconds", "low", "high", "bus_bandwidth"} <= set(document["points"][0])


def test_report_and_page_show_the_same_curve(foretrain, tmp_path):
    page = tmp_path / "page.html"
    ended = foretrain("estimate", EXAMPLE, "--html", page)
    assert ended.code == 0
    assert "An all-reduce of 1 KiB takes" in ended.out
    assert "algbw" in ended.out
    assert "interval" in ended.out.splitlines()[2]
    text = page.read_text()
    assert "bandwidth against bytes of the message" in text
    assert "time against bytes of the message" in text
    assert "all-reduce of 16 h100-sxm on 2 nodes" in text


def test_errors_name_the_file(foretrain, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[collective]\nkind = "all-gahter"\nbytes = "1 B"\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n'
    )
    ended = foretrain("estimate", path)
    assert ended.code == 1
    assert ended.err.startswith(f"error: {path}: collective.kind: unknown 'all-gahter'. Did you")


def test_other_commands_say_who_answers_a_collective(foretrain):
    ended = foretrain("search", EXAMPLE)
    assert ended.code == 1
    assert 'collective: asks "foretrain estimate" for one transfer' in ended.err
