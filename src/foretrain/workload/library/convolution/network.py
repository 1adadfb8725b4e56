"""Blocks: operators with the pictures on both sides; sections of them are a model's layers.

A model forgets pictures. Who splits a convolution by pixels or channels reads them here.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.graph import Layer, Model
from foretrain.workload.library.convolution.picture import Picture, Window
from foretrain.workload.operator import Operator
from foretrain.workload.trainable import forward_only


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One operator and the pictures on both sides of it.

    Attributes:
        operator: what is priced.
        picture: what it reads.
        result: what it writes.
        window: of a convolution or pooling; None for operators without.
        groups: groups of channels that a convolution keeps apart.
    """

    operator: Operator
    picture: Picture
    result: Picture
    window: Window | None = None
    groups: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks that stay together on one pipeline stage.

    Attributes:
        name: shown to users.
        blocks: in the order in which they run.
        repeats: how many such sections follow one another.
        input: values per sample that the section reads, skip connections past it included.
        output: values per sample that it hands on, skip connections past it included.
        cuttable: whether a pipeline can be cut before and after it.
        frozen: whether it is not trained, nor anything before it.
    """

    name: str
    blocks: tuple[Block, ...]
    repeats: int
    input: float
    output: float
    cuttable: bool
    frozen: bool = False

    @property
    def layer(self) -> Layer:
        """The section without its pictures."""
        layer = Layer(
            name=self.name,
            operators=tuple(block.operator for block in self.blocks),
            repeats=self.repeats,
            input=self.input,
            output=self.output,
            cuttable=self.cuttable,
            recomputable=self.cuttable,
        )
        return forward_only(layer) if self.frozen else layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Sections in order.

    Attributes:
        sections: in the order in which they run.
    """

    sections: tuple[Section, ...]

    def model(self, name: str, *, tokens: int = 1) -> Model:
        """The network as the layers that are priced; `tokens` of a sample of speech or text."""
        read = self.sections[0].blocks[0].picture
        return Model(
            name=name,
            layers=tuple(part.layer for part in self.sections),
            tokens=tokens,
            dimensions=sum(side > 1 for side in read.sides),
        )
