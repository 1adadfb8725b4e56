"""`foretrain doctor`."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from foretrain.app.doctor import NEEDED, Check, Diagnosis, Health, doctor

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_everything_needed_is_here_where_the_tests_run(foretrain):
    ended = foretrain("doctor", "--json")
    answer = json.loads(ended.out)
    assert ended.code == 0
    assert {check["name"] for check in answer["checks"]} >= {"python", "numpy", "catalogue"}


def test_doctor_looks_for_every_library_that_the_project_needs():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    needed = sorted(re.split(r"[^\w-]", line)[0] for line in project["dependencies"])
    assert sorted(NEEDED) == needed


def test_missing_library_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr("foretrain.app.doctor.NEEDED", ("no-such-library",))
    check = next(check for check in doctor().checks if check.name == "no-such-library")
    assert check.health is Health.FAIL
    assert "pip install no-such-library" in check.advice


@pytest.mark.parametrize(("health", "code"), [(Health.WARN, 0), (Health.FAIL, 1)])
def test_only_a_failure_ends_with_1(foretrain, monkeypatch, health, code):
    diagnosis = Diagnosis(checks=(Check(name="x", health=health, found="y"),))
    monkeypatch.setattr("foretrain.app.doctor.doctor", lambda: diagnosis)
    assert foretrain("doctor").code == code
