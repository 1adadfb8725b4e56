"""`foretrain export`, `foretrain import`, and verbs that take files of trainers."""

import json
import tomllib

import pytest

STUDY = """
[workload]
model = "llama-3-8b"
global_batch = 64
sequence = 4096

[cluster]
name = "dgx-h100"
nodes = 2

[plan]
tensor = 2
pipeline = 2
interleaving = 1
sequence_parallel = true
micro_batch = 1
sharding = "optimizer"
recompute = "none"
"""


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def exported(foretrain, asked, tmp_path):
    ended = foretrain("export", asked, "--to", "megatron-lm", "--output", tmp_path / "out")
    assert ended.code == 0, ended.err
    return tmp_path / "out" / "train.sh"


def test_files_are_shown_and_written(foretrain, asked, tmp_path):
    folder = tmp_path / "out"
    ended = foretrain("export", asked, "--to", "torchtitan-0.2", "--output", folder)
    assert ended.code == 1
    assert "plan.sharding: torchtitan-0.2 has no sharding 'optimizer'" in ended.err
    assert not folder.exists()
    asked.write_text(STUDY.replace('"optimizer"', '"parameters"'))
    ended = foretrain("export", asked, "--to", "torchtitan", "--output", folder)
    assert ended.code == 0
    assert {each.name for each in folder.iterdir()} == {"train.toml", "train.sh"}
    assert (folder / "train.toml").read_text().strip() in ended.out


def test_a_file_says_its_release_and_what_is_predicted(exported):
    head = exported.read_text().splitlines()[1:5]
    assert "for Megatron-LM 0.18 (megatron-core-0.18)." in head[0]
    assert head[1].startswith("# Plan: tp2+sp, pp2, dp4")
    assert all(each in head[2] for each in ("step", " to ", "memory", "USD"))
    assert len(head[3].split()[2].rstrip(",")) == 64


def test_a_study_comes_back(foretrain, exported, tmp_path):
    back = tmp_path / "back.toml"
    ended = foretrain("import", exported, "--on", "dgx-h100", "--output", back)
    assert ended.code == 0
    document = tomllib.loads(back.read_text())
    assert document["workload"]["model"] == "llama-3-8b"
    assert document["cluster"] == {"name": "dgx-h100", "nodes": 2}
    wanted = tomllib.loads(STUDY)["plan"]
    assert document["plan"].items() >= wanted.items()
    assert back.read_text().strip() in ended.out


def test_estimate_of_a_file_is_that_of_its_study(foretrain, exported, tmp_path):
    back = tmp_path / "back.toml"
    foretrain("import", exported, "--on", "dgx-h100", "--output", back)
    of_study = json.loads(foretrain("estimate", back, "--json").out)
    ended = foretrain("estimate", exported, "--on", "dgx-h100", "--json")
    of_file = json.loads(ended.out)
    assert of_file["step_time"] == of_study["step_time"]
    assert of_file["plan"] == of_study["plan"]
    assert "read as megatron-core-0.18" in ended.err


def test_a_search_of_a_file_leaves_its_plan_open(foretrain, exported):
    ended = foretrain("search", exported, "--on", "dgx-h100", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["space"] > 1


def test_a_file_that_leaves_something_open_says_what_to_give(foretrain, exported):
    ended = foretrain("estimate", exported)
    assert ended.code == 1
    assert "cluster.name: the files do not say a cluster of the catalogue" in ended.err


def test_json_of_import_lists_every_option(foretrain, exported):
    answer = json.loads(foretrain("import", exported, "--on", "dgx-h100", "--json").out)
    assert answer["schema"] == "foretrain/import/1"
    assert answer["not_understood"] == []
    assert {"num-layers", "bf16"} <= {it["option"] for it in answer["understood"]}


def test_json_of_export_has_files_and_estimate(foretrain, asked):
    answer = json.loads(foretrain("export", asked, "--to", "megatron-lm", "--json").out)
    assert [it["name"] for it in answer["files"]] == ["train.sh"]
    assert answer["estimate"]["step_time"] > 0
    assert answer["trainer"] == "megatron-core-0.18"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "megatron-ml"], "unknown trainer 'megatron-ml'"),
        (["--to", "torchtitan-0.3"], "no files of torchtitan-0.3 are known here"),
        (["--to", "megatron-lm", "--launcher", "slrum"], "Did you mean 'slurm'?"),
    ],
)
def test_what_cannot_be_exported_says_what_can(foretrain, asked, arguments, told):
    ended = foretrain("export", asked, *arguments)
    assert ended.code == 1
    assert told in ended.err


def test_a_study_with_its_plan_open_exports_the_best(foretrain, asked, tmp_path):
    asked.write_text(STUDY[: STUDY.index("[plan]")] + "[plan]\npipeline = 1\ncontext = 1\n")
    ended = foretrain("export", asked, "--to", "megatron-lm", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["estimate"]["fits"]
