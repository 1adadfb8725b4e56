"""The command line as a whole: help, versions, and how errors end."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from foretrain.errors import InputError, NoPlanFits

SOURCE = Path(__file__).parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error"}
COMMANDS = ["estimate", "search", "validate", "catalogue", "schema", "doctor"]


def process(*arguments, **options):
    usual = {"env": ENVIRONMENT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "foretrain", *arguments]
    return subprocess.run(command, text=True, check=False, **(usual | options))


def raising(error):
    def verb(*_arguments, **_options):
        raise error

    return verb


def test_help_names_every_command(foretrain):
    ended = foretrain("--help")
    assert ended.code == 0
    assert all(f"\n  {command} " in ended.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(foretrain, command):
    ended = foretrain(command, "--help")
    assert ended.code == 0
    assert f"foretrain {command}" in ended.out


def test_no_arguments_show_the_help(foretrain):
    ended = foretrain()
    assert "Commands:" in ended.out + ended.err


def test_version_is_one_line(foretrain):
    ended = foretrain("--version")
    assert ended.code == 0
    assert len(ended.out.split()) == 1


@pytest.mark.parametrize(
    "arguments",
    [["no-such-verb"], ["search"], ["search", "a", "--no-such"], ["estimate", "a", "b"]],
)
def test_wrong_usage_ends_with_2_and_says_how(foretrain, arguments):
    ended = foretrain(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert "Usage:" in ended.err


def test_error_that_a_user_can_mend_ends_with_1_and_one_message(foretrain, study, monkeypatch):
    error = InputError("study.toml: 2 problems\n  workload.model: unknown\n  nodes: no")
    monkeypatch.setattr("foretrain.study.collective_study.read_question", raising(error))
    ended = foretrain("estimate", study)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: {error}\n"


def test_space_without_a_plan_that_fits_ends_with_3(foretrain, study, monkeypatch):
    error = NoPlanFits("no plan fits; the nearest needs 81 GiB of 74.5 GiB")
    monkeypatch.setattr(import_module("foretrain.search.search"), "search", raising(error))
    ended = foretrain("search", study)
    assert (ended.code, ended.out) == (3, "")
    assert "the nearest needs 81 GiB" in ended.err


def test_our_own_bugs_are_not_hidden(study, monkeypatch):
    from foretrain.app.main import run

    monkeypatch.setattr("foretrain.step.estimate.estimate", raising(AssertionError("ours")))
    monkeypatch.setattr(sys, "argv", ["foretrain", "estimate", study])
    with pytest.raises(AssertionError, match="ours"):
        run()


def test_missing_study_is_an_error_without_a_traceback():
    ended = process("search", "no-such-study.toml")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ")
    assert "no-such-study.toml" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['foretrain', '--help']\n"
        "from foretrain.app.main import run\n"
        "try: run()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stderr.split()
    heavy = {"numpy", "scipy", "torch", "pydantic", "plotly", "jinja2", "rich"}
    assert not heavy & {name.partition(".")[0] for name in loaded}


def test_reader_that_goes_away_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "foretrain", "doctor"]
    ended = subprocess.run(
        command, env=ENVIRONMENT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["doctor"], ["doctor", "--json"]])
def test_full_disk_is_one_line_of_an_error(arguments):
    with Path("/dev/full").open("w") as full:
        ended = process(*arguments, stdout=full)
    assert ended.returncode == 1
    assert re.fullmatch(r"error: the answer cannot be written: .+\.\n", ended.stderr)


def test_closed_stdout_is_one_line_of_an_error(foretrain, study, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    ended = foretrain("estimate", study)
    assert ended.code == 1
    assert ended.err == "error: the answer cannot be written: standard output is closed.\n"


def test_terminals_that_know_ascii_only_get_no_question_marks():
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    ended = process("catalogue", "devices", env=environment)
    assert ended.returncode == 0
    assert "?" not in ended.stdout
    assert "---" in ended.stdout
