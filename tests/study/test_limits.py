"""What files may hold at most is written where users look it up."""

import re
from pathlib import Path

import pytest

from foretrain.app import progress
from foretrain.errors import MOST_QUOTED
from foretrain.study import documents, measurements, model, problems
from foretrain.study import documents as toml
from foretrain.study import files as bounds
from foretrain.study.config import config
from foretrain.study.traces import format as traces

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text("utf-8")
MIB = 2**20


def row(what):
    (found,) = re.findall(rf"^\| [^|]*{what}[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
    return [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", found)]


@pytest.mark.parametrize(
    ("what", "limits"),
    [
        ("a study", [toml.MOST_BYTES / MIB]),
        ("config.json", [model.MOST_BYTES / MIB, config.MOST_LAYERS]),
        ("a table of measurements", [measurements.MOST_BYTES / MIB, documents.MOST_CELLS]),
        ("operators", [measurements.MOST_INVENTORY / MIB, documents.MOST_CELLS]),
        ("a log", [traces.MOST_BYTES / MIB]),
        ("a kept result", [progress.MOST_BYTES / MIB]),
        ("tables within", [bounds.DEEPEST]),
        ("a list(?! of)", [bounds.MOST_ITEMS]),
        ("a text", [bounds.MOST_LETTERS, measurements.MOST_LETTERS[measurements.ID]]),
    ],
)
def test_limits_are_documented(what, limits):
    assert row(what) == limits


def test_how_much_messages_say_is_documented():
    assert f"up to {MOST_QUOTED} letters" in PAGE
    assert f"the first {problems.MOST_LISTED} problems" in PAGE
