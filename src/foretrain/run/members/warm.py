"""Warm: what every member would load for itself is loaded once, before members are forked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warm() -> Iterator[None]:
    """Make this process one whose forks can train at once.

    PyTorch imports its compiler with the first step of an optimizer, which takes seconds of
    processor time and tens of megabytes: here once, and not once in every member. Meanwhile this
    process computes with one thread, as the threads of a parent are not there in its children.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.0)
        weight.sum().backward()
        optimizer.step()
        yield
    finally:
        torch.set_num_threads(threads)
