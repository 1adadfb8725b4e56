"""Processes: the same answers in the same order, wherever they are computed."""

import operator
import os
import signal
from functools import partial

import pytest

from foretrain.app.progress import engine, processes
from foretrain.errors import ForetrainError, InputError


def test_several_processes_answer_like_one():
    items = list(range(40))
    with processes(2) as spread:
        assert list(spread(partial(operator.mul, 3), items)) == [3 * item for item in items]


def killed(item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_told_in_one_message():
    with processes(2) as spread, pytest.raises(ForetrainError, match="run out of memory"):
        list(spread(killed, [1, 2]))


def test_one_worker_needs_no_other_process():
    with engine(1) as spread:
        assert spread is map


def test_fewer_than_one_worker_is_refused():
    with pytest.raises(InputError, match="give 1 or more"):
        engine(0)
