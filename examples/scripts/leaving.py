"""Members that stop early, crash, raise or are slow: the others go on as if alone."""

import multiprocessing
import os
import sys
import time
import uuid

import members
import torch
from torch.utils.data import DataLoader, TensorDataset

from foretrain import attach, share

KINDS = ("plain", "slow", "early", "crash", "diverged")
LEAVES = 9
"""Batches after which some leave."""


def loader():
    drawn = torch.Generator().manual_seed(0)
    return DataLoader(TensorDataset(torch.arange(200.0)), 7, shuffle=True, generator=drawn)


def train(loader, kind="plain"):
    seen = []
    for _ in range(members.EPOCHS):
        for (rows,) in loader:
            seen.append(rows.tolist())
            if kind == "slow":
                time.sleep(0.001)
            if len(seen) == LEAVES:
                if kind == "early":
                    return seen
                if kind == "crash":
                    os._exit(7)
                if kind == "diverged":
                    sys.exit("The loss is not a number.")
    return seen


def member(name, kind, results):
    with attach(name, model=kind) as loader:
        results.put((kind, train(loader, kind)))


def trained():
    """What those that came to an end have seen, by their kind."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch"])
    results, name = server.Queue(), f"leaving-{uuid.uuid4().hex[:12]}"
    many = {"epochs": members.EPOCHS, "readers": len(KINDS), "memory": "64 kB"}
    with share(loader(), name=name, **many) as stream:
        started = [server.Process(target=member, args=(name, kind, results)) for kind in KINDS]
        for each in started:
            each.start()
        seen = dict(results.get(timeout=60) for _ in ("plain", "slow", "early"))
        for each in started:
            each.join()
        assert stream.wait(60)
    return seen


if __name__ == "__main__":
    print(train(loader()) if sys.argv[1:] == ["private"] else trained())
