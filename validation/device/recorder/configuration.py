"""What is trained, and how: one configuration is one row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """Kinds of networks, each written in a file of its own."""

    GPT = "gpt"
    LLAMA = "llama"
    BERT = "bert"
    RESNET = "resnet"
    VGG = "vgg"


class Precision(StrEnum):
    """Numbers of products and activations, in the words of the tables.

    Mixed keeps weights of 32 bits and casts where PyTorch's autocast does; the true one has
    weights, gradients and optimizer of 16 bits.
    """

    FP32 = "fp32"
    TF32 = "tf32"
    FP16_MIXED = "fp16 mixed"
    BF16_MIXED = "bf16 mixed"
    BF16_TRUE = "bf16-true"


class Recompute(StrEnum):
    """What the backward pass computes again, in the words of the tables."""

    NONE = "none"
    SELECTIVE = "selective (attention)"
    FULL = "full"


class Attention(StrEnum):
    """How scores, softmax and context are computed, in the words of the tables."""

    FUSED = "sdpa"
    PLAIN = "unfused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The sizes of a transformer on text.

    Attributes:
        name: as foretrain's library spells it, or one of our own.
        family: GPT and BERT with biases and dropout 0.1, Llama with neither.
        layers: blocks.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key-value heads.
        feed_forward: width of the feed-forward part.
        vocabulary: rows of the embedding.
        tied: whether the head shares the embedding's weights.
        listed: whether foretrain's library has it under this name.
    """

    name: str
    family: Family
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    feed_forward: int
    vocabulary: int
    tied: bool = True
    listed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Vision:
    """A network that classifies images into 1000 classes.

    Attributes:
        name: as foretrain's library spells it.
        family: residual or plain.
        depth: layers with weights.
    """

    name: str
    family: Family
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One configuration.

    Attributes:
        network: what is trained.
        size: tokens of a sample, or pixels per side.
        batch: samples of a step.
        precision: of products and activations.
        recompute: what the backward pass computes again.
        attention: how attention is computed; of no meaning for images.
        channels_last: memory order of images.
    """

    network: Language | Vision
    size: int
    batch: int
    precision: Precision
    recompute: Recompute = Recompute.NONE
    attention: Attention = Attention.FUSED
    channels_last: bool = False

    @property
    def slug(self) -> str:
        """A name that no other configuration has."""
        words = [self.network.name, f"s{self.size}", f"b{self.batch}", self.precision]
        if self.recompute is not Recompute.NONE:
            words.append(f"{self.recompute.partition(' ')[0]} recompute")
        if self.attention is not Attention.FUSED:
            words.append(self.attention)
        if self.channels_last:
            words.append("channels last")
        return " ".join(words).replace(" ", "-")
