"""Nodes that decode together, each of which feeds two readers of its own; torchrun's script too."""

import hashlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from tests.ensemble.nodes.programs import Pictures

from batchcast.attachment import attach
from batchcast.stream import share
from foretrain.ensemble.nodes.leader import leader_from_environment
from foretrain.ensemble.nodes.pipeline import input_pipeline

EPOCHS = 2
SAMPLES = 103


def fed(leader, mode):
    """Digests of what two readers of this node had, each with batches of its own size."""
    torch.set_num_threads(1)
    source = input_pipeline(Pictures(SAMPLES), mode=mode, batch_size=10, leader=leader)
    name = f"feeding-{os.getpid()}"
    processes = ProcessPoolExecutor(2, mp_context=get_context("fork"))
    with share(source, name=name, epochs=EPOCHS, readers=2) as stream, processes as readers:
        found = list(readers.map(_digest, [name, name], [7, 16]))
        stream.wait()
        return found


def _digest(name, batch_size):
    digest = hashlib.sha256()
    with attach(name, batch_size=batch_size, model=str(batch_size)) as loader:
        for _ in range(EPOCHS):
            numbers = []
            for pixels, facts in loader:
                digest.update(pixels.numpy().tobytes())
                numbers += facts["label"].tolist()
            assert sorted(numbers) == list(range(SAMPLES))
    return digest.hexdigest()


if __name__ == "__main__":
    print(*fed(leader_from_environment(), sys.argv[1]))  # noqa: T201
