"""Questions in one line of a shell: the same study, the same answers, the same messages."""

import json
from pathlib import Path

import pytest
from tests.study.config.configs import llama

from foretrain.app.question import CommandLine, Spoken, _models, _places, asked_study
from foretrain.errors import InputError
from foretrain.study.settings import with_settings
from foretrain.study.spoken import spoken, written_study
from foretrain.study.study import read_study, study_from

LINE = ("llama-3-8b", "--on", "2xdgx-h100", "--batch", "64", "--sequence", "4096")
FILE = """
[workload]
model = "llama-3-8b"
global_batch = 64
sequence = 4096
[cluster]
name = "dgx-h100"
nodes = 2
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "asked.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("estimate", ["--set", "plan.tensor=4", "--set", "plan.micro_batch=1"]),
        ("search", ["--keep", "1", "--set", "plan.tensor=4"]),
        ("explain", ["--set", "plan.tensor=4", "--set", "plan.micro_batch=1"]),
    ],
)
def test_a_question_in_one_line_is_answered_like_the_file_that_says_the_same(
    foretrain, file, verb, more
):
    spoken_ = json.loads(foretrain(verb, *LINE, *more, "--json").out)
    written = json.loads(foretrain(verb, file, *more, "--json").out)
    spoken_.pop("seconds", None)
    written.pop("seconds", None)
    assert spoken_ == written


def test_a_key_that_is_set_takes_the_place_of_the_files(foretrain, file):
    told = json.loads(
        foretrain(
            "estimate",
            file,
            "--set",
            "plan.micro_batch=2",
            "--set",
            "plan.recompute=full",
            "--json",
        ).out
    )
    assert told["plan"]["micro_batch"] == 2
    assert told["plan"]["recompute"] == "full"


def test_batch_and_sequence_change_the_study_in_a_file_too(file):
    study = asked_study(file, Spoken(batch=128, sequence=2048))
    assert study.workload.global_batch == 128
    assert study.workload.model.tokens == 2048


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plan.tensor=4", 4),
        ("plan.tensor=[2, 4]", [2, 4]),
        ("plan.tensor= 4 ", 4),
        ("plan.tensor=full", "full"),
        ('plan.tensor="full"', "full"),
        ("plan.tensor=2.50 USD/h", "2.50 USD/h"),
        ("plan.tensor=true", True),
        ("plan.tensor=a=b", "a=b"),
    ],
)
def test_a_value_is_what_toml_makes_of_it_or_the_text_itself(text, value):
    assert with_settings({}, [text]) == {"plan": {"tensor": value}}


@pytest.mark.parametrize(
    "text", ["", "plan", "plan.tensor", "=4", ".=4", "plan.=4", "tensor=4", "a.b.c.d.e.f.g=1"]
)
def test_what_is_no_key_with_a_value_is_refused_with_an_example(text):
    with pytest.raises(InputError, match=r"--set .*plan\.tensor=4"):
        with_settings({}, [text])


def test_all_settings_that_are_none_are_told_at_once():
    with pytest.raises(InputError) as error:
        with_settings({"plan": 3}, ["foo", "bar", "plan.tensor=4"])
    assert len(str(error.value).splitlines()) == 3


def test_a_document_is_not_changed_by_settings():
    before = {"plan": {"tensor": 2}}
    assert with_settings(before, ["plan.tensor=4"]) == {"plan": {"tensor": 4}}
    assert before == {"plan": {"tensor": 2}}


def test_bad_values_get_the_same_message_as_in_a_file(foretrain, file):
    line = foretrain("estimate", *LINE, "--set", "plan.tensr=4")
    file.write_text(FILE + "[plan]\ntensr = 4\n")
    written = foretrain("estimate", file)
    assert line.code == written.code == 1
    assert line.err.replace("the command line", "") == written.err.replace(str(file), "")
    assert "Did you mean 'tensor'?" in line.err


def test_a_model_without_a_place_is_told_how_to_ask(foretrain):
    ended = foretrain("search", "llama-3-8b")
    assert ended.code == 1
    assert "--on 4xdgx-h100 --batch 256 --sequence 4096" in ended.err


def test_a_study_in_a_file_is_told_to_say_itself_where_it_runs(foretrain, file):
    ended = foretrain("estimate", file, "--on", "4xdgx-h100")
    assert ended.code == 1
    assert "says itself where it runs" in ended.err
    assert "--set cluster.nodes=4" in ended.err


def test_what_is_missing_is_named_by_its_key(foretrain):
    ended = foretrain("search", "llama-3-8b", "--on", "4xdgx-h100")
    assert "workload.global_batch: is missing" in ended.err
    ended = foretrain("search", "llama-3-8b", "--on", "4xdgx-nonsense", "--batch", 8)
    assert ended.code == 1
    assert "nonsense" in ended.err


def test_the_next_command_names_the_same_question():
    line = CommandLine(
        study=Path("llama-3-8b"), on="4x dgx-h100", batch=8, settings=["cluster.price=2 USD/h"]
    )
    told = line.named
    assert told == "llama-3-8b --on '4x dgx-h100' --batch 8 --set 'cluster.price=2 USD/h'"


def test_a_shell_is_told_models_and_places(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llama.toml").write_text(FILE)
    assert {"llama.toml", "llama-3-8b"} <= {*_models("llama")}
    assert "dgx-h100" in _places("dgx")
    assert "4xdgx-h100" in _places("4xdgx")
    assert all(each.startswith("4xdgx") for each in _places("4xdgx"))


def test_a_first_study_is_one_that_reads_and_says_the_same(tmp_path):
    document = spoken("llama-3-8b", on="4x dgx-h100", batch=256, sequence=8192)
    path = tmp_path / "first.toml"
    path.write_text(written_study(document))
    assert read_study(path) == study_from(document, "first")


def test_init_writes_a_study_that_search_takes(foretrain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = foretrain("init", "--model", "resnet-50", "--image", 224, "--on", "2xdgx-a100")
    assert ended.code == 0, ended.err
    assert read_study("study.toml").workload.model.name == "resnet-50"
    again = foretrain("init")
    assert again.code == 1
    assert "is there already" in again.err


@pytest.mark.parametrize(("model", "size"), [("resnet-50", ("--image", 224)), ("llama-3-8b", ())])
def test_what_init_writes_as_comments_reads_too(foretrain, tmp_path, monkeypatch, model, size):
    monkeypatch.chdir(tmp_path)
    assert foretrain("init", "--model", model, *size, "--on", "2xdgx-a100").code == 0
    path = tmp_path / "study.toml"
    path.write_text(path.read_text("utf-8").replace("# amount", "amount"), "utf-8")
    assert read_study(path).workload.samples > 0


def test_init_writes_nothing_that_does_not_read(foretrain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert foretrain("init", "--model", "nonsense").code == 1
    assert not (tmp_path / "study.toml").exists()


@pytest.mark.parametrize("folder", ["", "beside"])
def test_a_configuration_is_a_model_wherever_it_lies(foretrain, tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    config = Path(folder, "config.json")
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps(llama(512, 4, 8, intermediate_size=1024, vocab_size=1000)))
    line = (
        "--on",
        "1xdgx-a100",
        "--batch",
        "8",
        "--sequence",
        "512",
        "--set",
        "plan.micro_batch=1",
    )
    asked = json.loads(foretrain("estimate", config, *line, "--json").out)
    assert foretrain("init", "--model", config, *line).code == 0
    assert asked["parts"] == json.loads(foretrain("estimate", "study.toml", "--json").out)["parts"]
    against = foretrain("compare", config, "llama-3.2-1b", *line, "--json")
    assert json.loads(against.out)["first"]["estimate"]["parts"] == asked["parts"]


def test_init_asks_for_no_tokens_of_a_model_that_reads_none(foretrain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert foretrain("init", "--model", "unet-2d").code == 0
    assert read_study("study.toml").workload.model.tokens == 1
    told = foretrain("init", "other.toml", "--model", "resnet-50").err
    assert "give image (pixels)" in told
