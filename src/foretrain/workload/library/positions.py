"""Positions: the shape of a model of text with another table of learned positions."""

from __future__ import annotations

from dataclasses import replace

from foretrain.errors import InputError
from foretrain.workload.graph import Model
from foretrain.workload.library.electra import Electra, electra
from foretrain.workload.library.encoder_decoder import EncoderDecoder, encoder_decoder
from foretrain.workload.library.language_model import LanguageModel, language_model
from foretrain.workload.library.transformer import Decoder

Shape = LanguageModel | EncoderDecoder | Electra


def with_positions(shape: object, tokens: int) -> LanguageModel | EncoderDecoder | Electra:
    """The same model, made for samples of up to so many tokens.

    Args:
        shape: of a model with a learned table of positions.
        tokens: for which the new table has a row each.

    Raises:
        InputError: the model has no such table.
    """
    composed = shape.composed if isinstance(shape, Decoder) else shape
    table = composed.embedding if isinstance(composed, Shape) else None
    if not isinstance(composed, Shape) or table is None or table.positions is None:
        raise InputError(
            "workload.positions: the model has no learned table of positions, so samples may have "
            "any length. Leave it out."
        )
    return replace(
        composed,
        embedding=replace(table, positions=tokens + table.first, follows=False),
    )


def model_of_shape(name: str, shape: Shape, sequence: int) -> Model:
    """The model of a shape for samples of `sequence` tokens.

    Raises:
        InputError: samples are longer than its table of positions.
    """
    if isinstance(shape, EncoderDecoder):
        return encoder_decoder(name, shape, sequence=sequence)
    if isinstance(shape, Electra):
        return electra(name, shape, sequence=sequence)
    return language_model(name, shape, sequence=sequence)
