"""One run: its processes are started, hit, started again, and held against what they should do."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from validation.faults.plan import Fault, Part, Plan
from validation.faults.roles import events_of, log, own, read, take_part

from batchcast.addresses import candidates, connect
from batchcast.errors import StreamNotFound
from batchcast.messages import TO_READER, Kind, receive, send

LIMIT = 60.0
"""Seconds after which a run hangs."""

PAUSE = 2.0
"""Seconds for which a process is stopped."""

TICK = 0.002
"""Seconds between two looks at the processes."""

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(slots=True)
class Member:
    """A reader of the run, with its process if it has one."""

    part: Part
    path: Path
    pid: int | None = None
    begins: float = 0.0
    killed: bool = False
    over: str = ""
    anew: int = 0

    @property
    def waits(self) -> bool:
        """Whether it will be started."""
        return self.pid is None and not self.over


@dataclass(slots=True)
class Notice:
    """A death, and how to see that it was noticed."""

    role: str
    since: float
    seen: Callable[[], bool]


@dataclass(slots=True)
class Run:
    """Everything that goes on in one run."""

    plan: Plan
    folder: Path
    members: list[Member] = field(default_factory=list)
    owner: int | None = None
    owner_readers: int = 0
    began: float = 0.0
    shared: float | None = None
    paused: dict[int, float] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    noticed: list[tuple[str, float]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    hit: list[str] = field(default_factory=list)
    _checked: float = 0.0
    _peer: socket.socket | None = None

    def play(self) -> None:
        """From the first process to the last."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self.began = time.monotonic()
        for index, part in enumerate(self.plan.parts):
            self.members.append(Member(part, self.folder / f"reader-{index}", begins=part.late))
        faults = list(self.plan.faults)
        while not all(member.over for member in self.members):
            self._step(faults)
            if time.monotonic() - self.began > LIMIT:
                self.problems.append("hang")
                break
            time.sleep(TICK)
        self._end()

    @property
    def now(self) -> float:
        """Seconds since the stream was first shared, which takes a moment; 0 until then."""
        if self.shared is None:
            if not read(events_of(self.folder / "owner")):
                return 0.0
            self.shared = time.monotonic()
        return time.monotonic() - self.shared

    def _step(self, faults: list[Fault]) -> None:
        self._reap()
        self._wake()
        self._start()
        while faults and faults[0].after <= self.now:
            self._hit(faults.pop(0))
        self._look()

    # Processes.

    def _start(self) -> None:
        for member in self.members:
            if member.waits and member.begins <= self.now and not self._is_missed(member):
                member.killed = False
                if self.now > 0.05 and not read(member.path):
                    member.anew += 1
                play = partial(take_part, self.plan, member.part, member.path)
                member.pid = self._fork(play)
        if self.owner is None:
            here = [m for m in self.members if not m.over and (m.pid or m.begins <= self.now)]
            self.owner_readers = max(1, len(here))
            play = partial(own, self.plan, self.folder, readers=self.owner_readers)
            self.owner = self._fork(play)

    def _is_missed(self, member: Member) -> bool:
        """Whether nobody has seen yet that it died; its name must be seen to go."""
        missed = any(notice.role == "reader" for notice in self.notices)
        return missed and member.killed and self.now < member.begins + 3.0

    def _role(self, pid: int) -> str:
        """Which process of the run that is, in words."""
        names = [member.path.name for member in self.members if member.pid == pid]
        return "owner" if pid == self.owner else (names or ["process"])[0]

    def _fork(self, run: Callable[[], None]) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            errors = os.open(self.folder / "errors", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(errors, 2)
            tempfile.tempdir = str(self.folder)
            if self._peer is not None:
                self._peer.close()
            run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.paused.pop(pid, None)
            if pid == self.owner:
                self.owner = None
            for member in self.members:
                if member.pid == pid:
                    self._ended(member, status)

    def _ended(self, member: Member, status: int) -> None:
        member.pid = None
        events = read(events_of(member.path))
        last = events[-1] if events else {}
        if last.get("event") in {"done", "refused"}:
            member.over = last["event"]
        elif member.killed:
            member.begins = self.now + 0.05
            member.over = "" if member.part.returns else "given up"
        else:
            member.over = "failed"
            self.problems.append(f"{member.path.name} ended with {status}")

    def _wake(self) -> None:
        for pid, until in list(self.paused.items()):
            if until <= self.now:
                del self.paused[pid]
                _signal(pid, signal.SIGCONT)

    # Faults.

    @property
    def conductor(self) -> int | None:
        """The process that serves the stream now."""
        told = read(events_of(self.folder / "owner"))
        shared = [line["conductor"] for line in told if "conductor" in line]
        alive = self.owner is not None and shared and Path(f"/proc/{shared[-1]}").exists()
        return shared[-1] if alive else None

    def _hit(self, fault: Fault) -> None:
        pid = self._target(fault)
        if pid is None:
            return
        self.hit.append(f"{self.now:.2f} {'kill' if fault.kills else 'pause'} {fault.role} {pid}")
        if not fault.kills:
            self.paused[pid] = self.now + PAUSE
            _signal(pid, signal.SIGSTOP)
            return
        if not self.paused:
            self._expect(fault.role, pid)
        _signal(pid, signal.SIGKILL)

    def _target(self, fault: Fault) -> int | None:
        if fault.role == "owner":
            return self.owner
        conductor = self.conductor
        if fault.role == "conductor":
            return conductor
        if fault.role in {"worker", "template"}:
            templates = children_of(conductor) if conductor else []
            if fault.role == "template":
                return templates[0] if templates else None
            found = [worker for each in templates for worker in children_of(each)]
            return found[fault.which % len(found)] if found else None
        running = [member for member in self.members if member.pid]
        if not running:
            return None
        member = running[fault.which % len(running)]
        member.killed = member.killed or fault.kills
        return member.pid

    # Whether deaths are noticed.

    def _expect(self, role: str, pid: int) -> None:
        """From now on, look for whoever should notice this death."""
        seen: dict[str, Callable[[int], Callable[[], bool]]] = {
            "reader": self._left_by,
            "worker": self._replaced,
            "template": self._replaced,
            "conductor": self._lost,
            "owner": self._gone,
        }
        if any(notice.role in {"conductor", "owner"} for notice in self.notices):
            return  # whoever should notice it is dying too
        is_seen = seen[role](pid)
        facts = self._stats()
        if facts is None:
            return  # there is no stream now that could notice it
        if role == "reader" and self._name(pid) not in str(facts["readers"]):
            return
        if role in {"conductor", "owner"}:
            self.notices.clear()  # those who should notice the deaths before are dying too
        self.notices.append(Notice(role, time.monotonic(), is_seen))

    def _left_by(self, pid: int) -> Callable[[], bool]:
        name = self._name(pid)
        return lambda: (facts := self._stats()) is not None and name not in str(facts["readers"])

    def _name(self, pid: int) -> str:
        """The name of a reader."""
        (name,) = [member.path.name for member in self.members if member.pid == pid]
        return name

    def _replaced(self, _: int) -> Callable[[], bool]:
        facts = self._stats()
        before = facts["restarts"] if facts else 0
        return lambda: (facts := self._stats()) is not None and facts["restarts"] > before

    def _lost(self, _: int) -> Callable[[], bool]:
        before = len(self._events("lost"))
        return lambda: len(self._events("lost")) > before

    def _gone(self, _: int) -> Callable[[], bool]:
        conductor = self.conductor
        return lambda: not _runs(conductor or 0)

    def _events(self, event: str) -> list[dict[str, Any]]:
        paths = [self.folder / "owner", *(member.path for member in self.members)]
        lines = (line for path in paths for line in read(events_of(path)))
        return [line for line in lines if line["event"] == event]

    def _look(self) -> None:
        if self.paused:
            self.notices.clear()  # a process that is stopped notices nothing
        for notice in list(self.notices):
            if notice.seen():
                self.notices.remove(notice)
                self.noticed.append((notice.role, time.monotonic() - notice.since))
        if self.now > self._checked + 0.2 and not self.paused:
            self._checked = self.now
            self._check_start()

    def _check_start(self) -> None:
        """A stream that waits for readers that are done by now is shared anew."""
        unfinished = sum(not member.over for member in self.members)
        if unfinished < self.owner_readers and self.owner is not None:
            facts = self._stats()
            if facts is not None and facts["slots"] == 0:
                _signal(self.owner, signal.SIGKILL)

    def _stats(self) -> dict[str, Any] | None:
        """What the conductor tells, or nothing if it is not there."""
        try:
            self._peer = self._peer or connect(self.plan.name, patience=0.0)
            self._peer.settimeout(1.0)
            send(self._peer, Kind.STATS)
            message = receive(self._peer, TO_READER)
            if message is not None and message.kind is Kind.STATS:
                return message.json()
        except (StreamNotFound, OSError):
            pass
        if self._peer is not None:
            self._peer.close()
        self._peer = None
        return None

    # The end.

    def _end(self) -> None:
        for pid in self.paused:
            _signal(pid, signal.SIGCONT)
        if "hang" in self.problems:
            self.problems.append(str(self._stats()))
        if self._peer is not None:
            self._peer.close()
        log(self.folder / "stop")
        until = time.monotonic() + 3.0
        while time.monotonic() < until and (found := children_of(os.getpid())):
            self._reap()
            time.sleep(TICK)
        for pid in found:
            self.left.append(f"{self._role(pid)} {pid} {_state(pid)}")
        while found := children_of(os.getpid()):
            for pid in found:
                _signal(pid, signal.SIGKILL)
            self._reap()
        self.left += [path.name for path in files_of(self.plan.name)]
        known = {"errors", "owner", "stop", *(member.path.name for member in self.members)}
        self.left += [path.name for path in self.folder.iterdir() if path.stem not in known]


def files_of(name: str) -> list[Path]:
    """What lies where this user's streams are found."""
    return [path for folder in candidates() for path in folder.glob(f"{name}*")]


def children_of(pid: int) -> list[int]:
    """Processes that this one has started, oldest first."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _runs(pid: int) -> bool:
    """Whether a process is there and is not dead yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _state(pid: int) -> str:
    """What a process is waiting in, where the kernel tells."""
    with suppress(OSError):
        return f"{Path(f'/proc/{pid}/wchan').read_text()} {children_of(pid)}"
    return ""


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
