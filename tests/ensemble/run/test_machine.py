"""What the machine tells of processes, and the cores that a run is kept to."""

import os
import signal
from pathlib import Path

import pytest

from foretrain.ensemble.run import machine
from foretrain.ensemble.run.machine import TURNS, by_session, contention
from foretrain.errors import InputError


def test_what_the_machine_tells_of_processes():
    fields = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    names = ["state", *range(4, 53)]
    times = dict(zip(names, fields, strict=False))
    before = machine.ticks_of(os.getpid())
    assert before >= sum(int(times[key]) for key in (14, 15, 16, 17))
    assert before - sum(int(times[key]) for key in (14, 15, 16, 17)) <= 2
    assert machine.nanoseconds_of(os.getpid()) > 0
    assert machine.kibibytes_of(os.getpid()) > 1000
    for gone in (machine.ticks_of, machine.nanoseconds_of, machine.kibibytes_of):
        assert gone(2**22 + 1) == 0
    assert list(machine.descendants_of(2**22 + 1)) == []


def test_a_process_of_so_many_ticks_is_read_whatever_its_name(monkeypatch):
    text = "7 (a) b) (c) S 1 7 7 0 -1 4194560 9 8 7 6 100 200 30 4 20 0 1"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert machine.ticks_of(7) == 334


def test_what_descendants_take_is_added_up(monkeypatch):
    monkeypatch.setattr(machine, "descendants_of", lambda process: iter([1, 2]))
    monkeypatch.setattr(machine, "kibibytes_of", lambda process: 10 * process)
    monkeypatch.setattr(machine, "nanoseconds_of", lambda process: 10**9 * process)
    monkeypatch.setattr(machine, "ticks_of", lambda process: machine._TICKS * process)
    monkeypatch.setattr(machine, "processor_time", lambda: 0.5)
    assert machine.memory_of_descendants() == 30 * 1024
    assert machine.time_of_descendants() == 3.0
    assert machine.time_of_everything() == 3.5


def test_a_run_is_kept_to_so_many_cores_and_gives_them_back():
    allowed = os.sched_getaffinity(0)
    with machine.limited(1) as cores:
        assert (cores, machine.cores_here()) == (1, 1)
    assert os.sched_getaffinity(0) == allowed
    with machine.limited(None) as cores:
        assert cores == machine.cores_here() == len(allowed)
    with machine.limited(len(allowed)) as cores:
        assert cores == len(allowed)
    with (
        pytest.raises(InputError, match=f"this process may use {len(allowed)}"),
        machine.limited(len(allowed) + 1),
    ):
        pass


@pytest.mark.parametrize(
    ("setting", "groups", "dealt"),
    [
        ("1", "0::/", True),
        ("0", "0::/", False),
        ("1", "0::/user.slice/session-1.scope", False),
        ("1", "4:memory:/a\n1:cpu,cpuacct:/\n0::/", True),
        ("1", "4:memory:/\n1:cpu:/a\n0::/", False),
    ],
)
def test_cores_are_dealt_to_sessions_outside_of_groups_for_cores(tmp_path, setting, groups, dealt):
    autogroup, cgroups = tmp_path / "autogroup", tmp_path / "cgroup"
    assert not by_session(autogroup, cgroups)
    autogroup.write_text(f"{setting}\n")
    cgroups.write_text(f"{groups}\n")
    assert by_session(autogroup, cgroups) is dealt


def test_work_slows_down_by_what_it_takes_beside_others(monkeypatch):
    told = list[tuple[int, int]]()
    taken = iter([2.0, 3.0] * TURNS)
    monkeypatch.setattr(machine, "_forever", lambda work: 1000 + len(told))
    monkeypatch.setattr(machine, "_core_seconds", lambda work, seconds: next(taken))
    monkeypatch.setattr(machine.os, "kill", lambda process, order: told.append((process, order)))
    monkeypatch.setattr(machine.os, "waitpid", lambda process, flags: (process, 0))
    assert contention(lambda: None, cores=3, seconds=1.0) == pytest.approx(0.25)
    orders = [order for _, order in told]
    assert orders[:4] == [signal.SIGSTOP] * 2 + [signal.SIGCONT] * 2
    assert orders[-2:] == [signal.SIGKILL] * 2


def test_one_core_slows_nobody_and_nobody_is_left_behind():
    assert contention(lambda: sum(range(1000)), cores=1, seconds=0.02) < 0.99
    before = set(machine.descendants_of(os.getpid()))
    assert 0.0 <= contention(lambda: sum(range(1000)), cores=2, seconds=0.05) < 1.0
    assert set(machine.descendants_of(os.getpid())) <= before
