"""A new answer is one file and one line: then it has a command, JSON, schema, page and function."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.app.test_same_answer import ONE
from validation.adding.__main__ import added
from validation.adding.additions import ANSWER

SOURCE = Path(__file__).parents[2] / "src"

ASKS = """
import contextlib, io, json, sys
from foretrain.app.main import run

def ask(*arguments):
    sys.argv, out = ["foretrain", *arguments], io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            run()
        except SystemExit as ended:
            return [ended.code, out.getvalue()]

study, page = sys.argv[1:]
told = {
    "help": ask("--help"),
    "text": ask("hour", study),
    "document": ask("hour", study, "--json"),
    "page": ask("hour", study, "--html", page),
    "schema": ask("schema", "hour"),
}
import foretrain
told["python"] = [0, foretrain.hour(foretrain.read_study(study)).steps]
told["public"] = [0, sorted({"hour", "Hour"} & set(foretrain.__all__))]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a copy of the package says that has one more file, and one more line."""
    there = tmp_path_factory.mktemp("copy")
    shutil.copytree(SOURCE, there / "src", ignore=shutil.ignore_patterns("__pycache__"))
    touched = added(ANSWER, there)
    study, page = there / "study.toml", there / "page.html"
    study.write_text(ONE.replace('["none", "full"]', '"full"'))
    ran = subprocess.run(
        [sys.executable, "-c", ASKS, study, page],
        cwd=there / "src",
        env={"PYTHONPATH": str(there / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    found = {name: each[1] for name, each in json.loads(ran.stdout).items() if each[0] == 0}
    return {**found, "page": page.read_text(), "touched": touched}


def test_an_answer_is_added_by_one_file_and_one_line(told):
    assert list(told["touched"].values())[1:] == [1]
    assert set(told) >= {"help", "text", "document", "page", "schema", "python", "public"}


def test_the_added_answer_is_a_command_that_says_what_it_does(told):
    assert "hour" in told["help"]
    assert "What an hour is." in told["help"]


def test_the_added_answer_is_shown_by_the_labels_of_its_fields(told):
    steps = json.loads(told["document"])["steps"]
    text = " ".join(told["text"].split())
    assert f"Steps {steps:,}" in text
    assert "Where it goes" in text
    assert "share: of the hour" in text
    assert "Devices" not in text


def test_the_added_answer_is_a_document_of_its_schema(told):
    document, schema = json.loads(told["document"]), json.loads(told["schema"])
    assert document["schema"] == schema["properties"]["schema"]["const"] == "foretrain/hour/1"
    assert list(document) == list(schema["properties"])
    assert document["devices"] == 8


def test_the_added_answer_has_a_page(told):
    assert '<h2 id="hour-shares">Where it goes</h2>' in told["page"]
    assert "<dt>Steps</dt>" in told["page"]


def test_the_added_answer_is_a_public_function(told):
    assert told["python"] == json.loads(told["document"])["steps"]
    assert told["public"] == ["Hour", "hour"]
