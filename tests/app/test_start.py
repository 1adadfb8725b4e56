"""The program itself: what an interrupt does before and after there is anything to answer."""

import os
import signal
import subprocess
import sys
from functools import partial

import pytest
from tests.app.test_main import ENVIRONMENT

from foretrain.app.main import start

QUIET = {**ENVIRONMENT, "PYTHONWARNINGS": "ignore"}
"""Python warns of the file that an interrupt left open."""


@pytest.fixture
def interrupts():
    """Interrupts are afterwards what they were."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_program_that_is_interrupted_while_it_loads_ends_quietly(interrupts, capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("foretrain.app.main.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        start()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_interrupt_after_the_answer_changes_nothing(interrupts, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["foretrain", "--version"])
    with pytest.raises(SystemExit) as ended:
        start()
    os.kill(os.getpid(), signal.SIGINT)
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.split()) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a file that is read when we say so")
def test_program_that_is_interrupted_before_it_searches_ends_quietly(tmp_path):
    study = tmp_path / "study.toml"
    os.mkfifo(study)
    command = [sys.executable, "-m", "foretrain", "search", str(study)]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    # A shell lets what it starts in the background ignore interrupts, and children inherit that.
    piped["preexec_fn"] = heeds
    # To open the study for writing waits until the program reads it.
    with subprocess.Popen(command, env=QUIET, **piped) as program, study.open("w"):
        program.send_signal(signal.SIGINT)
        told = program.communicate(timeout=60)
    assert (program.returncode, *told) == (130, "", "")
