"""`foretrain search` of a study with two kinds of devices."""

import json

import pytest

STUDY = """
[workload]
model = "llama-3-8b"
global_batch = 64
sequence = 4096

[cluster]
groups = [{ name = "dgx-a100", nodes = 1 }, { name = "dgx-h100", nodes = 1 }]

[plan]
context = 1
micro_batch = 1
recompute = "selective"
sharding = "optimizer"
shard = 0
sequence_parallel = true
interleaving = 1
"""


@pytest.fixture
def two_kinds(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(STUDY)
    return path


def test_both_kinds_are_answered_together(foretrain, two_kinds):
    ended = foretrain("search", two_kinds, "--keep", 2)
    assert (ended.code, ended.err) == (0, "")
    assert "Best plan on both, by " in ended.out
    assert "orth it: " in ended.out


def test_json_is_that_of_mixed(foretrain, two_kinds):
    answer = json.loads(foretrain("search", two_kinds, "--json", "--keep", 1).out)
    assert answer["schema"] == "foretrain/mixed/1"
    assert [kind["device"] for kind in answer["best"]["kinds"]]
    assert len(answer["alone"]) == 2


def test_both_kinds_have_a_page(foretrain, two_kinds, tmp_path):
    page = tmp_path / "page.html"
    assert foretrain("search", two_kinds, "--keep", 2, "--html", page).code == 0
    assert "llama-3-8b on two kinds of devices" in page.read_text()


def test_options_for_one_kind_are_refused(foretrain, two_kinds):
    ended = foretrain("search", two_kinds, "--why-not", "tp8")
    assert ended.code == 1
    assert "only for one size on one kind of devices" in ended.err


def test_estimate_names_the_command_for_two_kinds(foretrain, two_kinds):
    ended = foretrain("estimate", two_kinds)
    assert ended.code == 1
    assert "cluster.groups: two kinds of devices are for 'foretrain search' alone" in ended.err
