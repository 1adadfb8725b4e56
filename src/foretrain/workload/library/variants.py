"""Routing: how evenly the tokens of a model with experts spread over them.

Positions: the shape of a model of text with another table of learned positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.parts.block import Block
from foretrain.workload.parts.encoder import Electra
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.feed_forward import Experts
from foretrain.workload.parts.language_model import Decoder, LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What a workload says about experts; every absent field leaves the model as it is.

    Attributes:
        capacity: room of an expert over its mean number of tokens; what overflows is dropped.
        imbalance: tokens of the busiest member of the expert axis over the mean.
    """

    capacity: float | None = None
    imbalance: float | None = None

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return self.capacity is not None or self.imbalance is not None


def routed(shape: object, routing: Routing) -> LanguageModel:
    """The shape of a model whose experts are used in this way.

    Raises:
        InputError: it has no experts, or they are no part of a shape.
    """
    if not isinstance(shape, LanguageModel) or not any(
        isinstance(block.feed_forward, Experts) for run in shape.runs for block in run.blocks
    ):
        raise InputError("it has no experts; leave out expert_capacity and expert_imbalance.")

    def used(block: Block) -> Block:
        part = block.feed_forward
        if not isinstance(part, Experts):
            return block
        imbalance = part.imbalance if routing.imbalance is None else routing.imbalance
        capacity = part.capacity if routing.capacity is None else routing.capacity
        return replace(block, feed_forward=replace(part, capacity=capacity, imbalance=imbalance))

    runs = (replace(run, blocks=tuple(map(used, run.blocks))) for run in shape.runs)
    return replace(shape, runs=tuple(runs))


def with_positions(shape: object, tokens: int) -> LanguageModel | EncoderDecoder | Electra:
    """The same model, made for samples of up to so many tokens.

    Args:
        shape: of a model with a learned table of positions.
        tokens: for which the new table has a row each.

    Raises:
        InputError: the model has no such table.
    """
    shape = shape.composed if isinstance(shape, Decoder) else shape
    if (
        not isinstance(shape, LanguageModel | EncoderDecoder | Electra)
        or shape.embedding.positions is None
    ):
        raise InputError(
            "workload.positions: the model has no learned table of positions, so samples may have "
            "any length. Leave it out."
        )
    table = shape.embedding
    return replace(shape, embedding=replace(table, positions=tokens + table.first, follows=False))
