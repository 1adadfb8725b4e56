"""`foretrain ensemble`: what is printed, what is refused, what stands on stdout alone."""

import json

import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, text_of
from tests.needs import needs
from typer.testing import CliRunner

from foretrain.app.main import app
from foretrain.errors import InputError

needs("torch")


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "tiny.toml"
    logs = '\n[logs]\ncsv = "log.csv"\nprometheus = "now.prom"\nevery = "10 ms"\n'
    path.write_text(text_of(PLAIN, WIDE, logs, name="tiny-cli"))
    return path


def printed(*arguments):
    done = CliRunner().invoke(app, ["ensemble", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_estimate_says_what_to_expect_and_which_code_runs(study, tmp_path):
    page = tmp_path / "page.html"
    text = printed("estimate", study, "--html", page)
    for part in ("tiny-cli, 2 members", "shared stream, 1 worker", "A run calls code of"):
        assert part in text
    assert "tests.ensemble.run.tiny:points" in page.read_text()


def test_estimate_prints_a_document_and_nothing_else(study):
    answer = json.loads(printed("estimate", study, "--json"))
    assert answer["schema"] == "foretrain/ensemble-estimate/1"
    assert answer["seconds"] > 0
    assert [each["name"] for each in answer["members"]] == ["plain", "wide"]
    assert sum(each["chosen"] for each in answer["loadings"]) == 1


def test_run_prints_members_predictions_and_writes_logs(study, tmp_path):
    text = printed("run", study)
    for part in ("plain", "done", "Prediction against reality", "time of training"):
        assert part in text
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert rows[0].startswith("seconds,member,state,epoch,samples")
    assert {row.split(",")[1] for row in rows[1:]} == {"plain", "wide"}
    exposed = (tmp_path / "now.prom").read_text()
    assert "# TYPE foretrain_member_samples_total counter" in exposed
    assert 'foretrain_member_samples_total{member="plain"} 48.0' in exposed


def test_run_prints_a_document_and_nothing_else(study):
    answer = json.loads(printed("run", study, "--json"))
    assert answer["schema"] == "foretrain/ensemble-run/1"
    assert {each["state"] for each in answer["members"]} == {"done"}
    assert answer["complete"] is True


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("tiny:points", "tiny:pionts", "has no 'pionts'. Did you mean 'points'?"),
        ("tiny:points", "tiny:SAMPLES", "is a int; a function is wanted"),
        ("tests.ensemble.run.tiny:build", "no_such_module:build", "there is no module no_such"),
        ("tiny:points", "tiny:loader", "shared=... is for samples"),
        ("[logs]", "[checkpoints]\nfolder = 3\n[logs]", "checkpoints.folder: 3 is not a text"),
        ('"10 MB"', '"900 TB"', "holds 9e+14 bytes"),
        ("cpu = ", "cores = ", "unknown key"),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(study, before, after, told):
    study.write_text(study.read_text().replace(before, after))
    with pytest.raises(InputError) as raised:
        printed("run", study)
    assert told in str(raised.value)
    assert not (study.parent / "log.csv").exists()


def test_a_log_whose_package_is_missing_is_refused(study, monkeypatch):
    monkeypatch.setattr("foretrain.ensemble.run.written.find_spec", lambda _name: None)
    study.write_text(study.read_text().replace("[logs]", '[logs]\ntensorboard = "board"'))
    with pytest.raises(InputError, match="the package tensorboard is not installed"):
        printed("run", study)
