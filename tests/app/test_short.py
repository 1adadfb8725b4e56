"""Answers are short: 80 columns and 40 lines of a real terminal hold them and the next prompt."""

import os
import pty
import re
import struct
import sys
import termios
import time
from fcntl import ioctl
from itertools import product
from pathlib import Path

import pytest
from tests.app.test_main import ENVIRONMENT
from tests.examples import every, slow

EXAMPLES = Path(__file__).parents[2] / "examples"
STUDIES = [each for each in sorted(EXAMPLES.glob("*.toml")) if "[workload]" in each.read_text()]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_a_terminal(*arguments):
    """Exit code and lines of a command in a terminal of 80 x 40."""
    command = [sys.executable, "-m", "foretrain", *map(str, arguments)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({**ENVIRONMENT, "TERM": "xterm-256color"})
        os.environ.pop("COLUMNS", None)
        os.chdir(EXAMPLES)
        os.execv(sys.executable, command)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    found = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # The other end is closed.
            break
        if not more:
            break
        found += more
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    # Progress is drawn over itself, before the answer.
    text = ESCAPES.sub("", found.decode().replace("\r\n", "\n").rpartition("\r")[2])
    return os.waitstatus_to_exitcode(status), text.splitlines()


@pytest.mark.parametrize(
    ("verb", "study"),
    every(7, product(["search", "estimate", "explain"], STUDIES), slow=1),
    ids=lambda each: getattr(each, "stem", each),
)
def test_answers_fit_a_terminal_of_80_by_40(verb, study):
    code, lines = in_a_terminal(verb, study.name)
    assert code in (0, 1)
    assert 0 < len(lines) <= 39
    if code == 0:
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if "more lines" in line]


@slow
def test_who_asks_for_more_gets_it():
    study = "llama-3-70b-on-512-h100.toml"
    _, few = in_a_terminal("search", study)
    _, more = in_a_terminal("search", study, "--more")
    assert len(more) > 60
    assert not [line for line in few if line.startswith("Trade-offs")]
    assert [line for line in more if line.startswith("Trade-offs")]


def test_every_answer_ends_with_what_to_ask_next():
    study = "llama-3-70b-one-plan.toml"
    for verb in ("search", "estimate", "explain"):
        _, lines = in_a_terminal(verb, study)
        assert any("foretrain explain" in line or "foretrain search" in line for line in lines[-5:])


def test_help_takes_no_half_second():
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        code, lines = in_a_terminal("--help")
        best = min(best, time.perf_counter() - start)
    assert code == 0
    assert any("search" in line for line in lines)
    assert best <= 0.5
