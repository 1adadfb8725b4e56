"""Nodes of a test: processes of one machine, forked where torch is imported already."""

import multiprocessing
import socket
import time
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

from foretrain.ensemble.nodes.leader import Leader

PATIENCE = 60.0
"""Seconds that a test waits for a node before it calls it hung."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def on_nodes(program, nodes, *arguments, timeout=20.0):
    """What `program(leader, *arguments)` returns at each node; for an error, itself.

    A node that dies returns None. They meet at a store of this process, as under a launcher.
    """
    store, leaders = _leaders(nodes, timeout)
    assert store.port
    return _gathered([_started(program, leader, arguments) for leader in leaders])


def on_threads(program, nodes, *arguments, timeout=20.0):
    """The same where each node is a thread of this process: quick, for programs in which none dies.

    Nothing but connections is between them, as between processes.
    """
    store, leaders = _leaders(nodes, timeout)
    assert store.port
    with ThreadPoolExecutor(nodes) as pool:
        nodes_at_work = [pool.submit(program, leader, *arguments) for leader in leaders]
        wait(nodes_at_work, PATIENCE)
        return [each.exception(0) or each.result(0) for each in nodes_at_work]


def _leaders(nodes, timeout):
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    return store, [
        Leader(rank=rank, nodes=nodes, port=store.port, timeout=timeout, hosted=True)
        for rank in range(nodes)
    ]


def _started(program, leader, arguments):
    ours, theirs = multiprocessing.Pipe(duplex=False)
    node = _context().Process(target=_answer, args=(theirs, program, leader, arguments))
    node.start()
    theirs.close()
    return node, ours


def _gathered(started):
    until = time.monotonic() + PATIENCE
    answers = [_answer_of(ours, until) for _, ours in started]
    for node, _ in started:
        node.join(max(0.0, until - time.monotonic()))
        node.kill()
        node.join()
    return answers


def _answer_of(pipe, until):
    with pipe:
        try:
            return pipe.recv() if pipe.poll(max(0.0, until - time.monotonic())) else "hung"
        except EOFError:
            return None


def _answer(pipe, program, leader, arguments):
    try:
        pipe.send(program(leader, *arguments))
    except Exception as error:
        pipe.send(error)


@cache
def _context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "tests.ensemble.nodes.programs"])
    return context
