"""Who published what: every source of the tables has one publisher."""

import csv
from pathlib import Path

import pytest
from validation.parts.publishers import read_publishers

from foretrain.errors import InputError

VALIDATION = Path(__file__).parents[3] / "validation"
TABLES = sorted(
    path for path in VALIDATION.glob("tables/*.csv") if "source_id" in path.read_text()[:200]
)


@pytest.fixture
def published(tmp_path):
    def read(text):
        path = tmp_path / "publishers.toml"
        path.write_text(text)
        return read_publishers(path)

    return read


def test_every_source_of_the_tables_has_a_publisher():
    sources = {
        row["source_id"] for path in TABLES for row in csv.DictReader(path.read_text().splitlines())
    }
    assert len(TABLES) >= 7
    assert sources <= set(read_publishers(VALIDATION / "publishers.toml"))


def test_all_rounds_of_mlperf_are_one_publisher():
    publishers = read_publishers(VALIDATION / "publishers.toml")
    rounds = {publishers[source] for source in publishers if source.startswith("mlperf-")}
    assert rounds == {"mlperf"}


def test_a_source_is_told_by_its_publisher(published):
    assert published('ours = ["a", "b"]\ntheirs = ["c"]') == {
        "a": "ours",
        "b": "ours",
        "c": "theirs",
    }


def test_a_source_has_one_publisher(published):
    with pytest.raises(InputError, match="theirs: 'a' stands under 'ours' too"):
        published('ours = ["a"]\ntheirs = ["a"]')


@pytest.mark.parametrize("text", ["ours = 3", "ours = [3]", 'ours = "a"', 'ours = [""]'])
def test_sources_are_a_list_of_texts(published, text):
    with pytest.raises(InputError, match=r"ours: .* is not a list of sources"):
        published(text)
