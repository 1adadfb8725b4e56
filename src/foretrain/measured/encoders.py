"""Encoders of text from the columns that state their sizes."""

from __future__ import annotations

from functools import lru_cache

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, stated
from foretrain.measured.run import Network
from foretrain.workload.graph import Model
from foretrain.workload.library.families.bert import Sizes, bert_shape
from foretrain.workload.library.language_model import language_model

FAMILY = "bert"


def encoder_of(network: Network, assumptions: Assumptions, *, sequence: int) -> Model:
    """A BERT of the stated sizes; its feed-forward part is four times as wide as the stream.

    Raises:
        NotCovered: a size that must not be guessed is not stated.
    """
    sizes = (
        stated(network.layers, "layers"),
        stated(network.hidden, "hidden size"),
        stated(network.heads, "heads"),
    )
    vocabulary = assumptions.fill(network.vocabulary, defaults.WORD_PIECES)
    return _encoder(network.name, sizes, vocabulary, sequence=sequence)


@lru_cache(maxsize=64)
def _encoder(name: str, sizes: Sizes, vocabulary: int, *, sequence: int) -> Model:
    return language_model(name, bert_shape(sizes, vocabulary=vocabulary), sequence=sequence)
