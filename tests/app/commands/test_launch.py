"""`foretrain export`, `foretrain import`, and verbs that take files of trainers."""

import json
import tomllib

import pytest
from tests.examples import slow
from typer.testing import CliRunner

from foretrain.app.main import app

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


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """What is exported, once for all that read it."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "study.toml").write_text(STUDY)
    asked = ["export", folder / "study.toml", "--to", "megatron-lm", "--output", folder]
    ended = CliRunner().invoke(app, [*map(str, asked)], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return (folder / "train.sh").read_text()


@pytest.fixture
def exported(script, tmp_path):
    (tmp_path / "out").mkdir()
    file = tmp_path / "out" / "train.sh"
    file.write_text(script)
    return file


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


def test_a_network_of_pictures_is_not_written_for_a_builder_of_language_models(foretrain):
    line = ["resnet-50", "--on", "1xdgx-h100", "--batch", 64, "--image", 224]
    line += ["--set", "plan.micro_batch=1"]
    ended = foretrain("export", *line, "--to", "megatron-lm")
    assert ended.code == 1
    assert "workload.model: Megatron-LM 0.18" in ended.err
    assert "resnet-50 is none" in ended.err
    assert foretrain("export", *line, "--to", "deepspeed").code == 0


def test_a_study_with_its_plan_open_exports_the_best(foretrain, asked, tmp_path):
    asked.write_text(STUDY[: STUDY.index("[plan]")] + "[plan]\npipeline = 1\ncontext = 1\n")
    ended = foretrain("export", asked, "--to", "megatron-lm", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["estimate"]["fits"]


@slow
def test_an_explanation_of_a_file_is_that_of_its_study(foretrain, exported, tmp_path):
    """Each of a hundred estimates weighs what the trainer leaves open."""
    back = tmp_path / "back.toml"
    foretrain("import", exported, "--on", "dgx-h100", "--output", back)
    of_study = json.loads(foretrain("explain", back, "--json").out)
    ended = foretrain("explain", exported, "--on", "dgx-h100", "--json")
    assert ended.code == 0, ended.err
    of_file = json.loads(ended.out)
    assert of_file["waterfall"] == of_study["waterfall"]
    assert of_file["plan"] == of_study["plan"]
    assert f"{exported}: read as megatron-core-0.18" in ended.err


def test_two_files_are_compared(foretrain, exported, tmp_path):
    other = tmp_path / "other.sh"
    text = exported.read_text()
    other.write_text(text.replace("--micro-batch-size 1", "--micro-batch-size 2"))
    assert other.read_text() != text
    ended = foretrain("compare", exported, other, "--on", "dgx-h100", "--json")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    assert [it["what"] for it in answer["departures"]] == ["plan.micro_batch"]
    assert answer["time"] == sum(it["time"] for it in answer["departures"]) != 0
    assert ended.err.count("read as megatron-core-0.18") == 2


def test_a_file_and_the_study_that_wrote_it_differ_in_what_the_study_left_open(
    foretrain, asked, exported
):
    itself = foretrain("compare", exported, exported, "--on", "dgx-h100", "--json")
    assert json.loads(itself.out)["departures"] == []
    for pair in ((asked, exported), (exported, asked)):
        ended = foretrain("compare", *pair, "--on", "dgx-h100", "--json")
        assert ended.code == 0, ended.err
        whats = {it["what"] for it in json.loads(ended.out)["departures"]}
        # How stages send is a habit of the trainer, which the study does not name.
        assert {it for it in whats if not it.startswith("trainer")} <= {"plan.sends"}


def test_a_file_is_compared_with_a_plan_of_it(foretrain, exported):
    ended = foretrain("compare", exported, "tp4 dp2", "--on", "dgx-h100")
    assert ended.code == 0, ended.err
    assert "plan.tensor" in ended.out
    assert f"foretrain compare {exported} 'tp4 dp2' --on dgx-h100 --more" in ended.out


@pytest.mark.parametrize("verb", [["estimate"], ["compare", "study.toml"]])
def test_a_script_that_is_not_there_is_no_model_and_no_plan(foretrain, asked, verb, monkeypatch):
    monkeypatch.chdir(asked.parent)
    ended = foretrain(*verb, "gone.sh", "--on", "dgx-h100")
    assert (ended.code, ended.err) == (1, "error: gone.sh: there is no such file.\n")


def test_two_studies_do_not_take_another_place(foretrain, asked):
    ended = foretrain("compare", asked, asked, "--on", "dgx-a100")
    assert ended.code == 1
    assert "say themselves where they run" in ended.err


def test_a_search_says_how_its_plan_is_run(foretrain, asked, tmp_path):
    asked.write_text(STUDY[: STUDY.index("[plan]")] + "[plan]\npipeline = 1\ncontext = 1\n")
    ended = foretrain("search", asked)
    line = next(it for it in ended.out.splitlines() if it.startswith("Export"))
    words = line.split()[2:]
    assert words[0] == "export"
    assert words[1] == str(asked)
    assert words[2] == "--to"
    assert foretrain(*words).code == 0


def test_a_program_is_refused_with_what_to_do(foretrain, tmp_path):
    recipe = tmp_path / "recipe.py"
    recipe.write_text("recipe = llm.llama3_8b.pretrain_recipe(num_nodes=1)\n")
    for words in (("import", recipe), ("estimate", recipe, "--on", "dgx-h100")):
        ended = foretrain(*words)
        assert ended.code == 1
        assert ended.err.startswith(f"error: {recipe}: is a program. torchtitan 0.3 and newer")
        assert ended.err.count(str(recipe)) == 1
        assert "foretrain estimate MODEL --on" in ended.err


def test_a_search_names_the_trainer_of_the_study(foretrain, asked):
    asked.write_text(STUDY + '[trainer]\nname = "megatron-core-0.12"\n')
    assert f"foretrain export {asked} --to megatron-core-0.12" in foretrain("search", asked).out
    # torchtitan 0.3 is configured by functions, of which none is written.
    named = '[trainer]\nname = "torchtitan-0.3"\n'
    asked.write_text(STUDY.replace('"optimizer"', '"parameters"') + named)
    ended = foretrain("search", asked)
    assert ended.code == 0, ended.err
    assert "foretrain export" not in ended.out
