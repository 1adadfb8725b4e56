"""Programs: trainings small enough to read, written in the words of whoever would run them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A language model.

    Attributes:
        stack: whose modules it is made of: `transformers`, or `plain` for PyTorch's own, whose norm
            is one kernel.
        kind: `llama`, `qwen2` or `gpt-neox`.
        layers: blocks.
        hidden: width of the stream.
        heads: of queries.
        kv_heads: of keys and values.
        width: of the feed-forward part.
        vocabulary: tokens that are known.
        tied: whether the product of the logits uses the table of the embedding.
    """

    stack: str = "transformers"
    kind: str = "llama"
    layers: int = 16
    hidden: int = 2048
    heads: int = 16
    kv_heads: int = 8
    width: int = 5632
    vocabulary: int = 32000
    tied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One training.

    Attributes:
        name: of the program.
        network: what is trained.
        sequence: tokens of a sample.
        micro_batch: samples of a pass on one device.
        passes: micro-batches of a step on one device.
        precision: `bf16` for 16 bits throughout, `mixed` for parameters in fp32 of which passes
            read 16 bits, `fp32`.
        reduced: precision in which sharded gradients are reduced.
        optimizer: `adamw`, `momentum` or `sgd`.
        fused: whether the update is one kernel.
        data: members of the data axis.
        sharded: whether they divide parameters, gradients and optimizer (FSDP2); otherwise each
            has all (DistributedDataParallel).
        reshard: whether gathered parameters go after the forward pass of their layer.
        tensor: members of the tensor axis, which divide the tokens between their products too.
        pipeline: stages.
        recompute: whether each layer is computed again in the backward pass.
        attention: `flash` or `plain`.
        lora: rank of adapters; 0 to train everything.
        targets: projections with an adapter.
        dropout: share of what adapters read that is dropped.
    """

    name: str
    network: Network = Network()
    sequence: int = 2048
    micro_batch: int = 1
    passes: int = 1
    precision: str = "bf16"
    reduced: str = "bf16"
    optimizer: str = "adamw"
    fused: bool = True
    data: int = 1
    sharded: bool = True
    reshard: bool = True
    tensor: int = 1
    pipeline: int = 1
    recompute: bool = False
    attention: str = "flash"
    lora: int = 0
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    dropout: float = 0.0
