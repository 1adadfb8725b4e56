"""The roster, with members that are threads: who tells what, is asked to stop, and died of what."""

import os
import signal
import threading
from multiprocessing.connection import Connection
from types import SimpleNamespace

import pytest

from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run.launch import PATIENCE, Roster
from foretrain.ensemble.run.looks import Report, send


class Process:
    """Stands for a member's process."""

    def __init__(self, run, status):
        self.status, self.signals, self.ended, self.waited = None, [], 0, []
        self._ends = status
        self.asked = threading.Event()
        self._thread = threading.Thread(target=run, args=(self,), daemon=True)
        self._thread.start()

    def wait(self, timeout):
        self.waited.append(timeout)
        self._thread.join(timeout)
        self.status = self._ends

    def send_signal(self, number):
        self.signals.append(number)
        self.asked.set()

    def end(self):
        self.ended += 1


class Home:
    """Starts what a member does in a thread; `plays` are by name."""

    def __init__(self, **plays):
        self.plays, self.processes, self.asked = plays, {}, []

    def fork(self, run, descriptors, **asked):
        name = run.args[0][0].recipe.name
        play, status = self.plays[name]
        self.asked.append(asked)
        own = os.dup(descriptors[0])

        def lives(process):
            with Connection(own, readable=False) as pipe:
                play(pipe, process)

        self.processes[name] = Process(lives, status)
        return self.processes[name]


def job(name):
    return SimpleNamespace(recipe=SimpleNamespace(name=name, process=None))


def reports(*states):
    def play(pipe, process):
        for samples, state in enumerate(states, 1):
            send(pipe, Report(state=state, samples=samples))

    return play


def until_asked(pipe, process):
    send(pipe, Report(state=MemberState.TRAINING))
    assert process.asked.wait(10)
    send(pipe, Report(state=MemberState.STOPPED, samples=9))


def watched(home, *, stop=lambda: False, every=60.0):
    seen = []
    with Roster(home) as roster:
        roster.start(map(job, home.plays))
        last = roster.watch(lambda: seen.append(dict(roster.reports)), every=every, stop=stop)
        assert roster.reports == last
        assert not any(each.ended for each in home.processes.values())
    assert [each.ended for each in home.processes.values()] == [1] * len(home.plays)
    return last, seen


def test_members_are_watched_until_all_have_told_their_last():
    done = reports(MemberState.WAITING, MemberState.TRAINING, MemberState.DONE)
    home = Home(a=(done, 0), b=(reports(MemberState.FAILED), 1))
    last, seen = watched(home)
    assert {name: (each.state, each.samples) for name, each in last.items()} == {
        "a": (MemberState.DONE, 3),
        "b": (MemberState.FAILED, 1),
    }
    assert seen == [last]  # a look at the end, however soon that is
    assert [each.waited for each in home.processes.values()] == [[PATIENCE]] * 2
    assert {each["told"] for each in home.asked} == {signal.SIGTERM}
    assert {each["dies_with_us"] for each in home.asked} == {signal.SIGTERM}


def test_looks_come_as_often_as_is_asked():
    home = Home(a=(lambda pipe, process: process.asked.wait(0.3), 0))
    _, seen = watched(home, every=0.02)
    assert 4 <= len(seen) <= 20


def test_members_are_asked_to_stop_once():
    home = Home(a=(until_asked, 0), b=(until_asked, 0))
    last, _ = watched(home, stop=lambda: True, every=0.01)
    assert [each.signals for each in home.processes.values()] == [[signal.SIGTERM]] * 2
    assert {each.state for each in last.values()} == {MemberState.STOPPED}


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (None, "it closed its pipe and did not end"),
        (3, "its process ended with code 3"),
        (0, "its process ended with code 0"),
        (-signal.SIGSEGV, "its process was ended by SIGSEGV"),
        (-signal.SIGKILL, "ended by SIGKILL; the machine may have run out of memory"),
    ],
)
def test_a_member_that_said_no_last_word_failed_as_its_process_did(status, says):
    last, _ = watched(Home(a=(reports(MemberState.TRAINING), status)))
    assert (last["a"].state, last["a"].samples) == (MemberState.FAILED, 1)
    assert last["a"].reason.endswith(says)
