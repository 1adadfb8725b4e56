"""Emulated nodes on one machine: a network namespace each, joined by a switch with shaped links.

    with Lab(nodes=4, rate=500e6 / 8) as lab:
        answers = lab.run(["-m", "validation.testbed.node"], told)

It needs root, `ip` and `tc` (iproute2) and Linux' HTB. Nothing of the machine's own network is
touched, and all names begin with a word of this process, so that two labs cannot meet.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

NETWORK = "10.77.0"
PORT = 29500
FRAME = 1514
"""Bytes of a full Ethernet frame."""
PAYLOAD = 1448
"""Bytes of it that are TCP's payload, with time stamps."""
BURST = 15000
"""Bytes that may leave at once: ten frames. More would make small messages too quick."""
QUEUE = 4 * 2**20
"""Bytes that may wait for a link; what comes beyond them is lost, and TCP sends it again."""
SHORT = "4,128 0 0 0,37 1 0 100,6 0 0 4294967295,6 0 0 0"
"""BPF: frames of at most 100 bytes. Acknowledgements that wait behind data halve two-way rates."""
QUIET = {
    "net.ipv6.conf.all.disable_ipv6": 1,
    "net.ipv4.tcp_slow_start_after_idle": 0,
    "net.ipv4.tcp_no_metrics_save": 1,
}
"""No second protocol, no slow restart after a pause, no memory of earlier connections."""


def missing() -> str | None:
    """Why this machine cannot emulate nodes; None if it can."""
    if os.geteuid() != 0:
        return "emulated nodes need root"
    if absent := [tool for tool in ("ip", "tc", "chrt") if not shutil.which(tool)]:
        return f"emulated nodes need {', '.join(absent)}: install iproute2 and util-linux"
    try:
        with Lab(nodes=1, rate=1e6):
            return None
    except LabError as error:
        return f"this kernel or container does not let us emulate nodes: {error}"


class LabError(RuntimeError):
    """A command of the lab failed."""


@dataclass(kw_only=True)
class Lab:
    """Nodes joined by a switch; it exists within a `with` block.

    Attributes:
        nodes: how many.
        rate: bytes per second on the wire of each node's link, in each direction.
        other_rates: of nodes whose links have another rate, by their rank.
        queue: bytes that may wait for each direction of a link.
        urgency: real-time priority of the nodes' processes, so that the machine's other work does
            not disturb them; 0 for none.
        prefix: that all names begin with.
    """

    nodes: int
    rate: float
    other_rates: Mapping[int, float] = field(default_factory=dict)
    queue: int = QUEUE
    urgency: int = 5
    prefix: str = field(default_factory=lambda: f"ft{os.getpid()}")

    def __enter__(self) -> Lab:
        self._remove()
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

    def run(self, program: Sequence[str], told: object, *, timeout: float) -> list[Any]:
        """Run a Python program once per node, and collect what each prints, as JSON.

        Args:
            program: arguments of the Python interpreter.
            told: what every node reads from standard input, as JSON.
            timeout: seconds until all must have ended.

        Raises:
            LabError: a node failed; with the end of what it wrote on standard error.
        """
        running = [self._started(rank, program) for rank in range(self.nodes)]
        try:
            for each in running[1:]:
                _feed(each, told)
            first = running[0].communicate(json.dumps(told), timeout=timeout)
            answers = [first, *(each.communicate(timeout=timeout) for each in running[1:])]
        finally:
            for each in running:
                each.kill()
        for rank, (each, (_, wrote)) in enumerate(zip(running, answers, strict=True)):
            if each.returncode:
                raise LabError(f"node {rank} ended with {each.returncode}:\n{wrote[-2000:]}")
        return [json.loads(printed) for printed, _ in answers]

    def _started(self, rank: int, program: Sequence[str]) -> subprocess.Popen[str]:
        urgent = ["chrt", "-f", str(self.urgency)] if self.urgency else []
        inside = ["ip", "netns", "exec", self._node(rank)]
        there = {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.nodes),
            "MASTER_ADDR": _address(0),
            "MASTER_PORT": str(PORT),
            "GLOO_SOCKET_IFNAME": "eth0",
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.Popen(
            [*urgent, *inside, sys.executable, *program],
            env={**os.environ, **there},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _node(self, rank: int) -> str:
        return f"{self.prefix}-{rank}"

    @property
    def _switch(self) -> str:
        return f"{self.prefix}-switch"

    def _build(self) -> None:
        names = [self._switch, *map(self._node, range(self.nodes))]
        _tool("ip", [f"netns add {name}" for name in names])
        for name in names:
            _quieten(name)
        _tool("ip", ["link add br0 type bridge forward_delay 0", "link set br0 up"], self._switch)
        for rank in range(self.nodes):
            self._join(rank)
        addresses = [self._hardware_address(rank) for rank in range(self.nodes)]
        for rank in range(self.nodes):
            _tool("ip", _neighbours(rank, addresses), self._node(rank))

    def _join(self, rank: int) -> None:
        """Plug a node into the switch, both directions shaped."""
        inside, port = self._node(rank), f"port{rank}"
        _tool(
            "ip",
            [
                f"link add {port} type veth peer name eth0 netns {inside}",
                f"link set {port} master br0 up",
            ],
            self._switch,
        )
        _tool(
            "ip",
            [
                f"addr add {_address(rank)}/24 dev eth0",
                "link set eth0 up",
                "link set lo up",
                # A namespace may not choose cubic for itself, but a route may.
                f"route replace {NETWORK}.0/24 dev eth0 src {_address(rank)} "
                "congctl cubic initcwnd 20",
            ],
            inside,
        )
        rate = self.other_rates.get(rank, self.rate)
        _tool("tc", _shaped("eth0", rate, queue=self.queue), inside)
        _tool("tc", _shaped(port, rate, queue=self.queue), self._switch)

    def _hardware_address(self, rank: int) -> str:
        found = _out(["ip", "-n", self._node(rank), "-j", "link", "show", "eth0"])
        (link,) = json.loads(found)
        return str(link["address"])

    def _remove(self) -> None:
        """End what runs in our namespaces, and them; links and switch go with them."""
        for name in _namespaces():
            if name.startswith(f"{self.prefix}-") or _is_orphan(name):
                for process in _out(["ip", "netns", "pids", name]).split():
                    with suppress(ProcessLookupError):
                        os.kill(int(process), signal.SIGKILL)
                _out(["ip", "netns", "del", name])


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _out(["ip", "netns", "list"]).splitlines()]


def _is_orphan(name: str) -> bool:
    """Whether a lab was killed before it could remove this namespace."""
    made = re.fullmatch(r"ft(\d+)-(\d+|switch)", name)
    return made is not None and not Path("/proc", made[1]).exists()


def _feed(process: subprocess.Popen[str], told: object) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # a node that has failed already says so when it is asked
        process.stdin.write(json.dumps(told))
        process.stdin.close()
    process.stdin = None


def _address(rank: int) -> str:
    return f"{NETWORK}.{rank + 1}"


def _quieten(name: str) -> None:
    settings = [f"{key}={value}" for key, value in QUIET.items()]
    _out(["ip", "netns", "exec", name, "sysctl", "-qw", *settings])


def _neighbours(rank: int, addresses: Sequence[str]) -> list[str]:
    """Everybody's hardware address, so that nobody asks while we measure."""
    return [
        f"neigh replace {_address(other)} lladdr {address} dev eth0 nud permanent"
        for other, address in enumerate(addresses)
        if other != rank
    ]


def _shaped(device: str, rate: float, *, queue: int) -> list[str]:
    """HTB at a rate, acknowledgements first."""
    limit = f"htb rate {round(8 * rate)}bit burst {BURST} cburst {BURST} quantum 60000"
    return [
        f"qdisc add dev {device} root handle 1: htb default 20",
        f"class add dev {device} parent 1: classid 1:1 {limit}",
        f"class add dev {device} parent 1:1 classid 1:10 {limit} prio 0",
        f"class add dev {device} parent 1:1 classid 1:20 {limit} prio 1",
        f"qdisc add dev {device} parent 1:10 bfifo limit {queue}",
        f"qdisc add dev {device} parent 1:20 bfifo limit {queue}",
        f'filter add dev {device} parent 1: protocol ip prio 1 bpf bytecode "{SHORT}" flowid 1:10',
    ]


def _tool(name: str, lines: Sequence[str], namespace: str | None = None) -> None:
    inside = ["-n", namespace] if namespace else []
    if lines:
        _out([name, *inside, "-batch", "-"], "\n".join(lines) + "\n")


def _out(command: Sequence[str], told: str = "") -> str:
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
