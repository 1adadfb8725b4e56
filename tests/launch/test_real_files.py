"""Launch scripts and configurations as projects publish them: what each says and leaves."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from foretrain.launch.recognise import together
from foretrain.launch.told import Why
from foretrain.search.import_files import import_, with_asked
from foretrain.study.launch_files import read_launch_files
from foretrain.study.trainers import trainers

FOLDER = Path(__file__).parent / "files"
EXPECTED = tomllib.loads((Path(__file__).parent / "real_files.toml").read_text())
ORIGINS = tomllib.loads((Path(__file__).parent / "origins.toml").read_text())
NAMES = sorted(each.name for each in FOLDER.iterdir())


@cache
def found(name):
    files = with_asked(read_launch_files(FOLDER / name))
    return files, import_(files, on=EXPECTED[name]["on"])


def test_there_are_at_least_forty_and_each_is_looked_through():
    assert len(NAMES) >= 40
    assert set(NAMES) == set(EXPECTED)


def test_every_file_has_an_origin_and_forty_are_from_packages_as_they_are_released():
    assert set(ORIGINS) == set(NAMES)
    for name, each in ORIGINS.items():
        assert set(each) == {"project", "path", "held"}, name
        assert all(each.values()), name
        assert re.fullmatch(r"memory|[a-z-]+ \d+(\.\d+)+", each["held"]), name
    taken = [name for name, each in ORIGINS.items() if each["held"] != "memory"]
    assert len(taken) >= 40
    # What is told of memory in a file says the same as the table.
    told = {name for name in NAMES if "# Facts of " in (FOLDER / name).read_text()}
    assert not told & set(taken)


@pytest.mark.parametrize("name", NAMES)
def test_file_says_what_people_read_in_it(name):
    said, wanted = found(name)[1], EXPECTED[name]
    document = said.document
    workload, plan = document["workload"], document["plan"]
    assert said.trainer == wanted["trainer"]
    assert workload.items() >= wanted["workload"].items()
    assert plan.items() >= wanted["plan"].items()
    assert document.get("cluster", {}).get("nodes") == wanted.get("nodes")
    assert document["trainer"].get("options", {}) == wanted.get("options", {})
    if "sizes" in wanted:
        assert workload["model"]["decoder"].items() >= wanted["sizes"].items()
    else:
        assert workload.get("model") == wanted.get("model")
    assert [it.key for it in said.missing] == wanted.get("missing", [])


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_understood_listed_or_known_to_change_nothing(name):
    files, said = found(name)
    heard = {it.option for it in said.understood} | {it.option for it in said.not_understood}
    heard |= {option for it in said.ignored for option in it.options}
    asked = {it.name for it in together(files, trainers()).options}
    # A switch that is off says nothing.
    off = {it.name for it in together(files, trainers()).options if it.value is False}
    assert asked - heard - off == set()
    assert not [it.option for it in said.not_understood if it.kind is Why.UNKNOWN]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_understood_is_listed_with_its_line(name):
    said = found(name)[1]
    told = [f"{it.option} ({it.kind})" for it in said.not_understood]
    assert told == EXPECTED[name].get("not_understood", [])
    assert all(it.place.rpartition(":")[2].isdigit() for it in said.not_understood)


@pytest.mark.parametrize("name", [it for it in NAMES if "missing" not in EXPECTED[it]])
def test_file_that_leaves_nothing_open_is_a_study(name):
    said = found(name)[1]
    if said.document["workload"]["model"] in ("openai-community/gpt2",):
        pytest.skip("a repository whose sizes the library does not have")
    said.question(free=True)
