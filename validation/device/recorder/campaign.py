"""Which configurations are recorded, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from recorder.configuration import (
    Attention,
    Family,
    Language,
    Precision,
    Recompute,
    Training,
    Vision,
)


def _gpt(name: str, layers: int, hidden: int, *, heads: int, vocabulary: int = 50257) -> Language:
    return Language(
        name=name,
        family=Family.GPT,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        feed_forward=4 * hidden,
        vocabulary=vocabulary,
        listed=name.startswith("gpt-2"),
    )


def _bert(name: str, layers: int, hidden: int, *, heads: int) -> Language:
    return Language(
        name=name,
        family=Family.BERT,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads,
        feed_forward=4 * hidden,
        vocabulary=30522,
    )


def _llama(
    name: str, layers: int, hidden: int, *, heads: tuple[int, int], width: int, vocabulary: int
) -> Language:
    return Language(
        name=name,
        family=Family.LLAMA,
        layers=layers,
        hidden=hidden,
        heads=heads[0],
        kv_heads=heads[1],
        feed_forward=width,
        vocabulary=vocabulary,
        tied=name.startswith("llama-3.2"),
        listed=name.startswith("llama-3.2"),
    )


RESNET_18 = Vision(name="resnet-18", family=Family.RESNET, depth=18)
RESNET_50 = Vision(name="resnet-50", family=Family.RESNET, depth=50)
VGG_16 = Vision(name="vgg-16", family=Family.VGG, depth=16)
BERT_MINI = _bert("bert-mini", 4, 256, heads=4)
BERT_BASE = _bert("bert-base", 12, 768, heads=12)
BERT_LARGE = _bert("bert-large", 24, 1024, heads=16)
GPT_TINY = _gpt("gpt-tiny", 4, 256, heads=4, vocabulary=8192)
GPT_2 = _gpt("gpt-2-124m", 12, 768, heads=12)
GPT_2_MEDIUM = _gpt("gpt-2-355m", 24, 1024, heads=16)
GPT_2_LARGE = _gpt("gpt-2-774m", 36, 1280, heads=20)
LLAMA_TINY = _llama("llama-like-tiny", 4, 256, heads=(4, 2), width=704, vocabulary=8192)
LLAMA_1B = _llama("llama-3.2-1b", 16, 2048, heads=(32, 8), width=8192, vocabulary=128256)
LLAMA_3B = _llama("llama-3.2-3b", 28, 3072, heads=(24, 8), width=8192, vocabulary=128256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is varied for one network; the first of each list is the configuration to start from.

    Attributes:
        network: what is trained.
        sizes: tokens of a sample, or pixels per side.
        batches: samples of a step.
        precisions: of products and activations.
        recompute: what the backward pass computes again.
        attention: how attention is computed.
        channels_last: memory orders of images.
    """

    network: Language | Vision
    sizes: Sequence[int]
    batches: Sequence[int]
    precisions: Sequence[Precision]
    recompute: Sequence[Recompute] = (Recompute.NONE,)
    attention: Sequence[Attention] = (Attention.FUSED,)
    channels_last: Sequence[bool] = (False,)

    def trainings(self) -> Iterator[tuple[int, Training]]:
        """Configurations that differ in at most two ways from the first, each with how many."""
        lists = (
            self.sizes,
            self.batches,
            self.precisions,
            self.recompute,
            self.attention,
            self.channels_last,
        )
        for size, batch, precision, recompute, attention, order in product(*lists):
            chosen = (size, batch, precision, recompute, attention, order)
            away = sum(one != each[0] for one, each in zip(chosen, lists, strict=True))
            pointless = recompute is Recompute.SELECTIVE and attention is not Attention.PLAIN
            if away <= 2 and not pointless:
                yield (
                    away,
                    Training(
                        network=self.network,
                        size=size,
                        batch=batch,
                        precision=precision,
                        recompute=recompute,
                        attention=attention,
                        channels_last=order,
                    ),
                )


def ordered(choices: Sequence[Choices]) -> tuple[Training, ...]:
    """All configurations: first one of each network, then those that differ in one way, in two."""
    found = [each for network in choices for each in network.trainings()]
    return tuple(training for _, training in sorted(found, key=lambda each: each[0]))


_GPU_PRECISIONS = (
    Precision.BF16_MIXED,
    Precision.TF32,
    Precision.FP16_MIXED,
    Precision.BF16_TRUE,
    Precision.FP32,
)
_RECOMPUTE = (Recompute.NONE, Recompute.FULL, Recompute.SELECTIVE)
_EITHER = (Attention.FUSED, Attention.PLAIN)


def _on_gpu(network: Language, size: int, batches: Sequence[int]) -> Choices:
    return Choices(
        network=network,
        sizes=(size,),
        batches=batches,
        precisions=_GPU_PRECISIONS,
        recompute=_RECOMPUTE,
        attention=_EITHER,
    )


ON_GPU = ordered(
    [
        Choices(
            network=RESNET_50,
            sizes=(224,),
            batches=(128, 32, 256, 64, 8),
            precisions=_GPU_PRECISIONS,
            channels_last=(True, False),
        ),
        Choices(
            network=VGG_16,
            sizes=(224,),
            batches=(64, 32, 128, 8),
            precisions=_GPU_PRECISIONS,
            channels_last=(True, False),
        ),
        Choices(
            network=BERT_LARGE,
            sizes=(512, 128),
            batches=(16, 4, 32, 8),
            precisions=_GPU_PRECISIONS,
            recompute=(Recompute.NONE, Recompute.FULL),
        ),
        _on_gpu(GPT_2_MEDIUM, 1024, (8, 2, 16, 4, 1)),
        _on_gpu(GPT_2_LARGE, 1024, (8, 2, 16, 4)),
        _on_gpu(LLAMA_1B, 2048, (4, 1, 8, 2)),
        _on_gpu(LLAMA_3B, 2048, (2, 1, 4)),
    ]
)

_CPU_PRECISIONS = (Precision.FP32, Precision.BF16_MIXED)


def _on_cpu(network: Language, sizes: Sequence[int], batches: Sequence[int]) -> Choices:
    """Dropout has no fused attention on a processor."""
    fused = network.family is Family.LLAMA
    return Choices(
        network=network,
        sizes=sizes,
        batches=batches,
        precisions=_CPU_PRECISIONS,
        recompute=(Recompute.NONE, Recompute.FULL),
        attention=(Attention.FUSED, Attention.PLAIN) if fused else (Attention.PLAIN,),
    )


def _images_on_cpu(network: Vision, batches: Sequence[int]) -> Choices:
    return Choices(
        network=network,
        sizes=(224,),
        batches=batches,
        precisions=_CPU_PRECISIONS,
        channels_last=(False, True),
    )


ON_CPU = ordered(
    [
        _images_on_cpu(RESNET_18, (4, 1, 8)),
        _images_on_cpu(RESNET_50, (1, 4)),
        _on_cpu(BERT_MINI, (128, 512), (4, 1, 16)),
        _on_cpu(GPT_TINY, (256, 512), (4, 1, 16)),
        _on_cpu(LLAMA_TINY, (256, 512), (4, 1, 16)),
        _on_cpu(GPT_2, (128,), (1, 2)),
        _on_cpu(BERT_BASE, (128,), (1, 2)),
    ]
)
