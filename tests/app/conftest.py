"""The command line as a function: arguments in, exit code, stdout and stderr out."""

import sys
from dataclasses import dataclass
from importlib import import_module

import pytest
from tests import builders

from foretrain.app.main import run


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def foretrain(monkeypatch, capsys):
    """Runs the command line in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["foretrain", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        return Ended(code=ended.value.code or 0, **capsys.readouterr()._asdict())

    return call


@pytest.fixture
def study(monkeypatch):
    """A study that the readers and verbs answer without physics."""
    asked = builders.study()
    monkeypatch.setattr("foretrain.study.study.read_study", lambda path: asked)
    monkeypatch.setattr("foretrain.study.collective_study.read_question", lambda path: asked)
    monkeypatch.setattr("foretrain.step.estimate.estimate", lambda study, **_: builders.estimate())
    monkeypatch.setattr(
        import_module("foretrain.search.search"),
        "search",
        lambda study, *, keep, **_: builders.search_result(keep=keep),
    )
    return "study.toml"
