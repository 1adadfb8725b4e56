"""Niceness is touched where the user asks for it, and nowhere else."""

import os

import pytest
from tests.batchcast.at_work import Numbers, below, shared
from tests.needs import needs

from batchcast import niceness
from batchcast.errors import ArgumentError

needs("torch")


def niceness_of(stream):
    processes = (stream.pid, *below(stream.pid))
    return {os.getpriority(os.PRIO_PROCESS, each) for each in processes}


@pytest.mark.parametrize("nice", [0, 3])
def test_processes_of_a_stream_are_as_nice_as_they_were_asked_to_be(nice):
    here = os.getpriority(os.PRIO_PROCESS, 0)
    with shared(Numbers(5), nice=nice) as stream:
        assert niceness_of(stream) == {min(19, here + nice)}


def test_a_user_who_may_not_be_less_nice_is_told(monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)
    with pytest.raises(ArgumentError, match=r"nice is -5, .* Allowed here: 0 or more"):
        niceness.renice(-5)
    niceness.renice(0)
