"""Models that transformers builds and foretrain traces: which are read, how quickly, how exactly.

    python -m validation.tracing            # the table, and the bars that it must hold
    python -m validation.tracing --tenth    # of a random tenth of both, as CI runs it
    python -m validation.tracing bert clip  # some model types

Needs PyTorch and transformers; nothing is downloaded. A model type has the sizes of its default
configuration; those of `FAMILIES` stand beside it. Seconds are of this process, after imports.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.tenth import chooser

from foretrain.errors import ForetrainError, absent
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention

LLAMA: Final[Mapping[str, Any]] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
"""Llama-3-8B. Source: its published config.json."""

MOST_SECONDS: Final = 5.0
MOST_MEMORY: Final = 600 * 2**20
MOST_REFUSED: Final = 5
NEAR: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model type.

    Attributes:
        kind: its model_type.
        keys: of its configuration, beside the defaults.
        sequence: tokens of a sample, or values of sound; None for pictures.
    """

    kind: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    sequence: int | None = 512


FAMILIES: Final = (
    Case(kind="resnet", sequence=None),
    Case(kind="llama", keys=LLAMA, sequence=1024),
    Case(kind="qwen3", keys={"num_hidden_layers": 4}, sequence=1024),
    Case(kind="gemma2", sequence=1024),
    Case(kind="gpt2", sequence=1024),
    Case(kind="vit", sequence=None),
    Case(kind="swin", sequence=None),
    Case(kind="whisper", sequence=None),
    Case(kind="gpt_oss", keys={"num_hidden_layers": 4}, sequence=1024),
    Case(kind="deepseek_v3", keys={"num_hidden_layers": 4}, sequence=1024),
    Case(kind="qwen3_moe", keys={"num_hidden_layers": 4}, sequence=1024),
    Case(kind="mixtral", keys={"num_hidden_layers": 2}, sequence=1024),
    Case(kind="bert"),
    Case(kind="t5"),
    Case(kind="mamba", keys={"num_hidden_layers": 2}, sequence=1024),
)
"""Fifteen families, each of which must be traced in seconds and in little memory."""

WIDELY_USED: Final = {
    "encoders": "bert roberta distilbert albert deberta-v2 xlm-roberta modernbert mpnet",
    "encoder-decoders": "t5 bart marian pegasus",
    "decoders": "gpt2 llama mistral qwen2 gemma3_text phi3 olmo2 falcon",
    "mixtures of experts": (
        "mixtral qwen3_moe deepseek_v3 gpt_oss llama4_text glm4_moe granitemoe"
    ),
    "state-space models": "mamba mamba2 jamba zamba2 recurrent_gemma qwen3_next",
    "vision": "vit swin convnext dinov2 resnet segformer detr",
    "speech": "whisper wav2vec2 hubert audio-spectrogram-transformer",
    "pictures and text": "clip siglip blip llava qwen2_vl videomae",
}
"""Fifty model types."""

SAMPLES: Final[Mapping[str, int | None]] = {
    "whisper": None,
    "wav2vec2": 160_000,
    "hubert": 160_000,
    "audio-spectrogram-transformer": None,
    "clip": 77,
    "siglip": 64,
    "videomae": None,
    **dict.fromkeys(WIDELY_USED["vision"].split()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What came of a model type.

    Attributes:
        model: as it was read; None where it was refused.
        refusal: why.
        seconds: of this process.
    """

    model: Model | None
    refusal: str
    seconds: float


def read(case: Case) -> Read:
    """Build and trace a model type."""
    from foretrain.study.tracing.hugging_face import traced_config

    start = time.process_time()
    config = {"model_type": case.kind, **case.keys}
    try:
        model, refusal = traced_config(config, sequence=case.sequence, image=None), ""
    except ForetrainError as error:
        model, refusal = None, str(error)
    return Read(model=model, refusal=refusal, seconds=time.process_time() - start)


def forward_flop(model: Model) -> float:
    """FLOP of the forward pass of one sample, with fused attention."""
    kernels = (None, Attention.FLASH)
    found = (layer.repeats * it.flop for layer, it in model.operators if it.attention in kernels)
    return sum(found)


def line(case: Case, found: Read) -> str:
    """A row of the table."""
    told = f"{case.kind:30}{found.seconds:7.2f} s"
    if found.model is None:
        return f"{told}  refused: {found.refusal}"
    model = found.model
    sizes = f"{model.parameters / 1e6:11.1f} M {forward_flop(model) / 1e9:11.1f} GFLOP"
    layers = f"{model.cuttable_layers:4} layers"
    known = "" if model.spread == 1 else f"  interval x {model.spread:.3g}"
    return f"{told}{sizes}{layers}  {model.name} as {model.source}{known}"


def wide(chosen: Callable[[str], bool]) -> Iterator[Case]:
    """The model types that are widely used, or some of them."""
    for listed in WIDELY_USED.values():
        for kind in listed.split():
            if chosen(kind):
                yield Case(kind=kind, sequence=SAMPLES.get(kind, 512))


def families(chosen: Callable[[str], bool]) -> Iterator[str]:
    """What is wrong with the fifteen families, or some of them; each is printed."""
    for case in FAMILIES:
        if not chosen(case.kind):
            continue
        found = read(case)
        print(line(case, found), flush=True)
        if found.model is None:
            yield f"{case.kind} is not read"
        elif found.seconds > MOST_SECONDS:
            yield f"{case.kind} takes {found.seconds:.1f} s; at most {MOST_SECONDS:g} s"
        elif case.kind == "llama":
            yield from _against_library(found.model)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"memory of the process: {memory / 2**20:.0f} MiB")
    if memory > MOST_MEMORY:
        yield f"{memory / 2**20:.0f} MiB are resident; at most {MOST_MEMORY / 2**20:.0f} MiB"


def _against_library(traced: Model) -> Iterator[str]:
    """What differs between Llama-3-8B by its configuration and the library's."""
    known = build("llama-3-8b", sequence=traced.tokens)
    off = forward_flop(traced) / forward_flop(known) - 1
    print(f"llama-3-8b of the library: {traced.parameters - known.parameters:+g} parameters, "
          f"{off:+.2%} FLOP")  # fmt: skip
    if traced.parameters != known.parameters or abs(off) > NEAR:
        yield "llama differs from the library's llama-3-8b"


def main(arguments: list[str]) -> int:
    """Print the table; 1 where it does not hold its bars."""
    kinds = [each for each in arguments if not each.isdecimal() and not each.startswith("-")]
    drawn = chooser([each for each in arguments if each not in kinds])

    def chosen(kind: str) -> bool:
        return kind in kinds if kinds else drawn()

    lacking = absent("torch", "transformers")
    if lacking:
        print(f"not asked: {', '.join(lacking)} is not installed")
        return 1 if os.environ.get("CI") else 0
    os.environ["FORETRAIN_CACHE"] = "off"
    import torch
    import transformers

    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    wrong = [] if kinds else [*families(chosen)]
    print()
    asked, refused = 0, []
    for case in wide(chosen):
        asked += 1
        found = read(case)
        print(line(case, found), flush=True)
        if found.model is None:
            refused.append(case.kind)
    print(f"{asked - len(refused)} of {asked} model types are read; refused: {refused or 'none'}")
    most = min(MOST_REFUSED, max(1, asked // 10))  # of a tenth as small a share as of all
    if not kinds and len(refused) > most:
        wrong.append(f"{len(refused)} model types are refused; at most {most}")
    print("\n".join(wrong) or "every bar is held")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
