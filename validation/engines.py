"""Members that an engine starts, on two emulated nodes: Ray's actors, and ranks of torchrun.

    python -m validation.engines              # both; an engine that is not installed is skipped
    python -m validation.engines ray
    python -m validation.engines torchrun

A node is a node process of the engine with a folder for streams of its own, so that nothing but
connections of `torch.distributed` leads from one to the other. On each, one process shares an
`input_pipeline` and two members attach: four members, one stream service per node. All must get the
samples that one machine gives, in the same order; whoever is killed in the middle, the rest too.
The exit status is 1 if anybody does not.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from batchcast.stream import Stream
from foretrain.ensemble.nodes.decode import SampleOrder
from foretrain.ensemble.nodes.leader import Leader

NODES, MEMBERS = 2, 2
"""Emulated nodes, and members on each."""

SAMPLES, BATCH, EPOCHS = 400, 8, 3
PAUSE = 0.01
"""Seconds that a member trains on a batch, so that there is a middle to be killed in."""

MIDDLE = 20
"""Batches after which somebody is killed."""

LIMIT = 90.0
"""Seconds after which a run hangs."""

ROOT = Path(__file__).parents[1]
NAME = "train"


class Numbers:
    """Samples that hold their own number."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, number: int) -> tuple[Any, int]:
        """A tensor, and the number."""
        import torch

        return torch.full((16,), float(number)), number


def expected() -> list[int]:
    """What one machine gives every member, epoch after epoch."""
    order = SampleOrder(samples=SAMPLES, batch_size=BATCH, shuffle=True, seed=0)
    return [number for epoch in range(EPOCHS) for number in order.ids(epoch).tolist()]


# What runs on a node, whoever started it.


def serve(leader: Leader | None) -> Stream:
    """The stream of a node, which is the one that the environment describes if nothing is said."""
    from foretrain import input_pipeline, share

    source = input_pipeline(
        Numbers(),  # type: ignore[arg-type]
        mode="all-shared",
        batch_size=BATCH,
        leader=leader,
        on_loss="alone",
    )
    return share(source, name=NAME, epochs=EPOCHS, readers=MEMBERS)


def take_part(log: str) -> None:
    """A member: every batch that it gets becomes a line, in one write."""
    from foretrain import attach

    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with attach(NAME, batch_size=BATCH, model=log, patience=LIMIT) as loader:
        for _ in range(EPOCHS):
            for rows, numbers in loader:
                assert (rows == numbers[:, None]).all()
                os.write(descriptor, (json.dumps(numbers.tolist()) + "\n").encode())
                time.sleep(PAUSE)
    os.close(descriptor)


# What a run is held against.


def log_of(folder: Path, rank: int, member: int) -> Path:
    """Where a member writes what it gets."""
    return folder / f"member-{rank}-{member}"


def got(log: Path) -> list[int]:
    """Samples that a member got."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [number for line in lines for number in json.loads(line)]


def everybody() -> Iterator[tuple[int, int]]:
    """Node and number of every member."""
    return ((rank, member) for rank in range(NODES) for member in range(MEMBERS))


def problems(folder: Path, *, killed: set[tuple[int, int]]) -> list[str]:
    """Members that did not get what they should; whoever was killed has a beginning of it."""
    due, found = expected(), []
    for rank, member in everybody():
        had = got(log_of(folder, rank, member))
        right = had == due[: len(had)] if (rank, member) in killed else had == due
        if not right:
            found.append(f"member {member} of node {rank} got {len(had)} of {len(due)} samples")
    return found


def environment(folder: Path, rank: int) -> dict[str, str]:
    """That makes a node of its own of processes on this machine."""
    place = folder / f"node-{rank}"
    place.mkdir(mode=0o700, exist_ok=True)
    paths = f"{ROOT / 'src'}:{ROOT}"
    return {"XDG_RUNTIME_DIR": str(place), "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}


def in_the_middle(folder: Path) -> None:
    """Wait until every member has had some batches."""
    until = time.monotonic() + LIMIT
    while min(len(got(log_of(folder, *each))) for each in everybody()) < MIDDLE * BATCH:
        if time.monotonic() > until:
            raise TimeoutError("no member got anywhere")
        time.sleep(0.05)


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


# Ray.


def on_ray(folder: Path, kills: str) -> set[tuple[int, int]]:
    """A run whose members are actors; who was killed."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        nodes = [
            cluster.add_node(num_cpus=4, resources={f"node-{rank}": 1.0}) for rank in range(NODES)
        ]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        port = free_port()
        options = [
            {
                "num_cpus": 0,
                "resources": {f"node-{rank}": 0.1},
                "runtime_env": {"env_vars": environment(folder, rank)},
            }
            for rank in range(NODES)
        ]
        services = [
            ray.remote(RayService).options(**options[rank]).remote(rank, port)
            for rank in range(NODES)
        ]
        members = {
            (rank, member): ray.remote(RayMember).options(**options[rank]).remote()
            for rank, member in everybody()
        }
        at_work = {
            each: actor.run.remote(str(log_of(folder, *each))) for each, actor in members.items()
        }
        killed = set()
        if kills:
            in_the_middle(folder)
        if kills == "member":
            ray.kill(members[1, 0])
            killed = {(1, 0)}
        elif kills.startswith("node"):
            rank = int(kills[-1])
            cluster.remove_node(nodes[rank], allow_graceful=False)
            killed = {each for each in members if each[0] == rank}
        ray.get([work for each, work in at_work.items() if each not in killed], timeout=LIMIT)
        del services
        return killed
    finally:
        ray.shutdown()
        cluster.shutdown()


class RayService:
    """An actor that holds the stream of its node."""

    def __init__(self, rank: int, port: int) -> None:
        self.stream = serve(Leader(rank=rank, nodes=NODES, port=port, timeout=LIMIT))


class RayMember:
    """An actor that trains."""

    def run(self, log: str) -> None:
        """Every epoch."""
        take_part(log)


# Torchrun.


def on_torchrun(folder: Path, kills: str) -> set[tuple[int, int]]:
    """A run whose members are ranks; who was killed."""
    port = free_port()
    agents = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "torch.distributed.run", f"--nnodes={NODES}"),
                *(f"--nproc-per-node={MEMBERS}", f"--node-rank={rank}"),
                *("--master-addr=127.0.0.1", f"--master-port={port}"),
                *("-m", "validation.engines", "--rank", str(folder)),
            ],
            cwd=ROOT,
            env={**os.environ, **environment(folder, rank)},
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(NODES)
    ]
    killed: set[tuple[int, int]] = set()
    try:
        if kills == "node 1":  # the agent of node 0 serves the port where all meet
            in_the_middle(folder)
            _kill(agents[1])
            killed = {(1, member) for member in range(MEMBERS)}
        until = time.monotonic() + LIMIT
        while problems(folder, killed=killed) and time.monotonic() < until:
            time.sleep(0.2)  # an agent waits minutes for one that was killed; its ranks do not
        return killed
    finally:
        for each in agents:
            _kill(each)


def _kill(agent: subprocess.Popen[bytes]) -> None:
    """An agent and its ranks, each of which leads a session of its own."""
    below = Path(f"/proc/{agent.pid}/task/{agent.pid}/children")
    with suppress(FileNotFoundError, ProcessLookupError):
        for rank in below.read_text().split():
            os.kill(int(rank), signal.SIGKILL)
        agent.kill()
    agent.wait()


def be_a_rank(folder: Path) -> None:
    """What torchrun starts: a member, the first of a node beside the stream of it."""
    rank, member = int(os.environ["GROUP_RANK"]), int(os.environ["LOCAL_RANK"])
    stream = serve(None) if member == 0 else None
    take_part(str(log_of(folder, rank, member)))
    if stream is not None:
        stream.wait(LIMIT)
        stream.close()


ENGINES: Mapping[str, tuple[Callable[[Path, str], set[tuple[int, int]]], tuple[str, ...]]] = {
    "ray": (on_ray, ("", "member", "node 0", "node 1")),
    "torchrun": (on_torchrun, ("", "node 1")),
}
"""How an engine is run, and who is killed."""

MODULES = {"ray": "ray", "torchrun": "torch"}


def main(arguments: list[str]) -> int:
    """Every run of the engines; 1 if somebody did not get what one machine gives."""
    if arguments[:1] == ["--rank"]:
        be_a_rank(Path(arguments[1]))
        return 0
    if unknown := set(arguments) - set(ENGINES):
        print(f"unknown engine {', '.join(sorted(unknown))}. Known: {', '.join(ENGINES)}.")
        return 2
    wrong = 0
    for engine in arguments or ENGINES:
        if find_spec(MODULES[engine]) is None:
            print(f"{engine}: skipped, {MODULES[engine]} is not installed")
            continue
        run, faults = ENGINES[engine]
        for kills in faults:
            with tempfile.TemporaryDirectory() as folder:
                killed = run(Path(folder), kills)
                found = problems(Path(folder), killed=killed)
            wrong += bool(found)
            told = "; ".join(found) or f"{NODES * MEMBERS - len(killed)} members have all"
            print(f"{engine}, killed: {kills or 'nobody'}: {told}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    from validation import engines  # what engines start must find these classes by this name

    sys.exit(engines.main(sys.argv[1:]))
