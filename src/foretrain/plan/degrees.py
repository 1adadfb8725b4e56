"""Degrees: the ways to write a number of devices as a product that a workload can be divided by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foretrain.plan.choices import Question, chosen, cuts_into, divides_tokens
from foretrain.plan.divisors import divisors

Degrees = tuple[int, int, int, int]
"""Of the axes tensor, context, data and pipeline."""


def degrees_of(question: Question, devices: Sequence[int]) -> Iterator[Degrees]:
    """Every way to use one of several numbers of devices.

    Args:
        question: what the axes must divide, and the choices of the space.
        devices: numbers of devices to choose among.
    """
    space, model, counts = question.space, question.model, frozenset(devices)
    most = max(counts)
    every = sorted({degree for count in counts for degree in divisors(count)})
    tensors = [
        degree
        for degree in chosen(every, space.tensor)
        if not any(units % degree for units in question.units)
    ]
    contexts = [each for each in chosen(every, space.context) if divides_tokens(model, each)]
    replicas = [
        each for each in chosen(every, space.data) if question.workload.global_batch % each == 0
    ]
    for pipeline in [each for each in chosen(every, space.pipeline) if _stages(question, each)]:
        for data in _up_to(replicas, most // pipeline):
            for tensor in _up_to(tensors, most // (pipeline * data)):
                for context in _up_to(contexts, most // (pipeline * data * tensor)):
                    if pipeline * data * tensor * context in counts:
                        yield tensor, context, data, pipeline


def _stages(question: Question, pipeline: int) -> bool:
    """Whether the layers can be cut into so many stages, with some number of chunks each."""
    layers, space = question.model.cuttable_layers, question.space
    most = layers // pipeline if pipeline > 1 else 1
    return any(
        cuts_into(cut, layers, pipeline * chunks)
        for cut in space.cut
        for chunks in chosen(range(1, most + 1), space.interleaving)
    )


def _up_to(degrees: Iterable[int], most: int) -> Iterator[int]:
    """The degrees, ascending, up to one."""
    for degree in degrees:
        if degree > most:
            return
        yield degree
