"""Extras: one line that every shell takes, before any work is begun."""

import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from batchcast.errors import MissingPackage
from foretrain import attach, ensemble_estimate, ensemble_run, share
from foretrain.app.doctor import Health, doctor
from foretrain.ensemble.nodes.pipeline import input_pipeline
from foretrain.errors import EXTRAS, MissingExtra, missing
from tests.ensemble.run.studies import study

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
AUTO = "device = 'auto'"


@pytest.fixture
def bare(monkeypatch):
    """An installation without any extra."""
    for errors in ("foretrain.errors", "batchcast.errors"):
        monkeypatch.setattr(f"{errors}.find_spec", lambda _name: None)


def test_extras_are_those_of_the_project():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert EXTRAS.keys() == extras.keys() - {"test", "lint", "docs"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_to_install_is_one_line_that_every_shell_takes(extra):
    told = missing(extra, what="this")
    command = re.search(r"pip install (\S+)", told)[0]
    assert "\n" not in told
    assert command == f'pip install "foretrain[{extra}]"'  # cmd.exe knows double quotes only
    assert shlex.split(command)[-1] == f"foretrain[{extra}]"
    assert "https://download.pytorch.org/whl/cpu" in told


@pytest.mark.parametrize(
    ("what", "begin"),
    [
        ("share", lambda _folder: share([1.0], name="bare")),
        ("attach", lambda _folder: attach("bare", batch_size=1, patience=0.0)),
        ("pipeline", lambda _folder: input_pipeline([1.0], mode="duplicate", batch_size=1)),
        ("trained", lambda folder: ensemble_run(study(folder, name="bare"))),
        ("GPUs", lambda folder: ensemble_estimate(study(folder, name="bare", more=AUTO))),
    ],
)
def test_what_trains_for_real_says_which_extra_it_needs(bare, tmp_path, what, begin):
    with pytest.raises((MissingExtra, MissingPackage), match=what) as raised:
        begin(tmp_path)
    assert str(raised.value).endswith(missing("torch", what="")[1:])


def test_an_estimate_with_every_figure_given_needs_no_pytorch(bare, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = ensemble_estimate(study(tmp_path, name="given"))
    assert found.seconds > 0
    assert not found.measured
    assert any("its code was not called" in warning for warning in found.warnings)


def test_an_absent_extra_is_no_fault_and_said_by_doctor(bare, monkeypatch):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("foretrain.app.doctor.version", absent)
    check = next(check for check in doctor().checks if check.name == "torch")
    assert (check.health, check.found) == (Health.OK, "absent")
    assert 'pip install "foretrain[torch]"' in check.advice


@pytest.mark.parametrize(
    ("without", "found"),
    [((), "can be estimated and trained"), (("torch",), "can be estimated; training them needs")],
)
def test_doctor_says_that_ensembles_train_only_where_they_do(monkeypatch, without, found):
    monkeypatch.setattr("foretrain.app.doctor.absent", lambda *_: without)
    check = next(check for check in doctor().checks if check.name == "ensembles")
    assert check.found.startswith(found)
