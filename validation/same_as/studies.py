"""Random studies as people write them: a model, a cluster, a plan with some fields left open."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

TEXT = (
    "gpt-3-13b", "gpt-3-175b", "gpt-3-1.3b", "llama-2-7b", "llama-3-8b", "llama-3-70b",
    "mixtral-8x7b", "bert-large", "t5-large", "deepseek-v3", "qwen2.5-7b", "gemma-2-9b",
)  # fmt: skip
PICTURES = ("resnet-50", "vgg-16", "inception-v3", "efficientnet-b0", "densenet-121")
CLUSTERS = (
    "dgx-1-v100", "dgx-a100", "dgx-h100", "hgx-h200", "hgx-b200", "gb200-nvl72", "abci", "titan",
)  # fmt: skip


def studies(count: int, random: Random) -> Iterator[str]:
    """So many studies as TOML; some of them ask for what cannot be."""
    for _ in range(count):
        yield _study(random)


def _study(random: Random) -> str:
    reads = random.random() < 0.75
    model = random.choice(TEXT if reads else PICTURES)
    nodes = random.choice([1, 1, 2, 4, 8, 16])
    lines = [
        "[workload]",
        f'model = "{model}"',
        f"global_batch = {random.choice([32, 48, 64, 256, 1024])}",
        f"sequence = {random.choice([512, 2048])}" if reads else "image = 224",
        f'precision = "{random.choice(["bf16", "fp16", "fp32"])}"',
        f'optimizer = "{random.choice(["adamw", "sgd", "momentum"])}"',
    ]
    if random.random() < 0.3:
        lines.append('amount = "1 T tokens"' if reads else 'amount = "90 epochs"')
        if not reads:
            lines.append('data = { samples = 1281167, sample_bytes = "110 kB" }')
    if reads and random.random() < 0.15:
        lines.append("trainable = { lora = 16 }")
    lines += ["[cluster]", f'name = "{random.choice(CLUSTERS)}"', f"nodes = {nodes}"]
    lines += ["[plan]", *_plan(random, reads=reads)]
    if random.random() < 0.3:
        lines += ["[search]", f'objective = "{random.choice(["time", "memory", "energy"])}"']
    return "\n".join(lines) + "\n"


def _plan(random: Random, *, reads: bool) -> Iterator[str]:
    yield f"micro_batch = {random.choice([1, 1, 2, 4])}"
    if reads:
        yield f"tensor = {random.choice([1, 2, 4, [1, 8]])}"
        yield f"pipeline = {random.choice([1, 1, 2, 4, [1, 2]])}"
    else:
        yield "tensor = 1"  # members divide pictures and channels since
    yield "context = 1"
    if random.random() < 0.5:
        yield f'sharding = "{random.choice(["none", "optimizer", "parameters"])}"'
    if random.random() < 0.5:
        yield f'recompute = "{random.choice(["none", "selective", "full"])}"'
    if random.random() < 0.2:
        yield f'schedule = "{random.choice(["1f1b", "gpipe", "zero-bubble"])}"'
    if random.random() < 0.1:
        yield f'offload = "{random.choice(["optimizer", "activations"])}"'
