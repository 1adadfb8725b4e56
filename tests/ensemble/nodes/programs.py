"""What the nodes of these tests run."""

import hashlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import torch
from torch.utils.data import Dataset

from foretrain.ensemble.nodes.groups import NodeGroups
from foretrain.ensemble.nodes.leader import NodeLost
from foretrain.ensemble.nodes.pipeline import input_pipeline
from foretrain.errors import ForetrainError

torch.set_num_threads(1)

LONG = 3.0
"""Seconds that a sample takes which takes long."""


class Pictures(Dataset):
    """Samples that one can tell apart; one may fail, take long, or kill its node.

    With `ours`, only the node of that rank, which says in `rank` who it is, can be killed.
    """

    def __init__(self, samples, *, fails=None, lasts=None, kills=None, diary=None, ours=None):
        self.samples, self.fails, self.lasts = samples, fails, lasts
        self.kills, self.diary, self.ours, self.rank = kills, diary, ours, None

    def __len__(self):
        return self.samples

    def __getitem__(self, number):
        if number == self.fails:
            raise ValueError("not a picture")
        if number == self.lasts:
            time.sleep(LONG)
        if number == self.kills and self.rank == self.ours:
            self.diary.write_text(str(time.monotonic()))
            os.kill(os.getpid(), signal.SIGKILL)
        pixels = torch.arange(12, dtype=torch.float32).reshape(3, 4) + number
        return pixels, {"label": number, "name": f"picture {number}"}


class Ragged(Pictures):
    """Samples of very different lengths, in no order."""

    def __getitem__(self, number):
        pixels, facts = super().__getitem__(number)
        return pixels.repeat(1 + 97 * number % 31, 1), facts


def streams(leader, many_options, epochs=2):
    """What `stream` finds for each of many options, one pipeline after the other."""
    return [
        stream(leader, options | {"name": f"stream {number}"}, epochs)
        for number, options in enumerate(many_options)
    ]


def stream(leader, options, epochs=2):
    """Numbers of the samples of each epoch in their order, a digest of all bytes, and tallies."""
    digest = hashlib.sha256()
    with input_pipeline(leader=leader, **options) as source:
        numbers = [
            [number for block in source.blocks() for number in _taken(block, digest)]
            for _ in range(epochs)
        ]
        return numbers, digest.hexdigest(), source.tallies


def stream_of_a_node(leader, options):
    """The same, where the data set knows on which node it is."""
    options["dataset"].rank = leader.rank
    return stream(leader, options)


def errors(leader, many_options):
    """The error that ends each of many streams."""
    found = []
    for number, options in enumerate(many_options):
        try:
            stream(leader, options | {"name": f"stream {number}"})
        except ForetrainError as error:
            found.append(error)
    return found


def _taken(block, digest):
    pixels, facts = block.batch
    assert facts["name"] == [f"picture {number}" for number in block.ids]
    digest.update(pixels.numpy().tobytes() + facts["label"].numpy().tobytes())
    return block.ids.tolist()


def noticed(leader, options):
    """When this node learned that another one is gone."""
    try:
        stream(leader, options)
    except NodeLost:
        return time.monotonic()
    return None


def stream_twice(leader, options):
    """The batches of an epoch that all nodes leave early, and of the same epoch once more."""
    source = input_pipeline(leader=leader, **options)
    blocks = source.blocks()
    left = next(blocks).ids.tolist()
    blocks.close()
    again = [number for block in source.blocks() for number in block.ids]
    source.close()
    return left, again


def left_by_one(leader, options):
    """Seconds until this node learned that rank 0 left behind the first batch."""
    began = time.monotonic()
    source = input_pipeline(leader=leader, **options)
    try:
        for _ in source:
            if leader.rank == 0:
                source.close()
                return None
    except NodeLost:
        return time.monotonic() - began


def operations(leader, groups, number, seed):
    """Random operations, issued by each node in an order of its own; how many had wrong bytes."""
    rng = Random(seed)
    all_of_them = [_drawn(rng, groups, name) for name in range(number)]
    mine = [each for each in all_of_them if leader.rank in groups[each["group"]]]
    Random(seed + leader.rank).shuffle(mine)
    with NodeGroups(groups, leader=leader) as running:
        issued = [(each, _issue(running, leader.rank, **each)) for each in mine]
        return sum(
            not _right(future.result(), members=groups[each["group"]], **each)
            for each, future in issued
        )


def operations_of_threads(leader, groups, number):
    """Threads that each wait for their own operation before they issue the next."""
    mine = [group for group, ranks in enumerate(groups) if leader.rank in ranks]
    with NodeGroups(groups, leader=leader) as running, ThreadPoolExecutor() as threads:
        return sum(threads.map(lambda group: _one_by_one(running, group, number), mine))


def _one_by_one(running, group, number):
    """How many ones were added up."""
    sums = (
        running.reduce(group, torch.ones(3), name=str(name)).result()[0] for name in range(number)
    )
    return int(sum(sums))


def _drawn(rng, groups, name):
    group = rng.randrange(len(groups))
    return {
        "name": name,
        "group": group,
        "kind": rng.choice(["broadcast", "gather", "reduce"]),
        "root": rng.choice(groups[group]),
        "size": rng.randrange(1, 5000),
    }


def _issue(running, rank, *, name, group, kind, root, size):
    tensor = torch.full((size,), float(name + rank))
    options = {"root": root} if kind == "broadcast" else {}
    return getattr(running, kind)(group, tensor, name=str(name), **options)


def _right(found, *, members, name, kind, root, size, group):
    due = {
        "broadcast": lambda: torch.full((size,), float(name + root)),
        "gather": lambda: torch.tensor([[name + rank] * size for rank in members]),
        "reduce": lambda: torch.full((size,), float(sum(name + rank for rank in members))),
    }[kind]()
    return torch.equal(found, due.float())


def lonely_operation(leader):
    """An operation that the other member never issues."""
    running = NodeGroups([[0, 1]], leader=leader)
    if leader.rank == 1:
        time.sleep(2 * leader.timeout)
        return None
    return running.reduce(0, torch.ones(1), name="lonely").exception(30)
