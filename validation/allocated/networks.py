"""The modules of programs: those of transformers, and plain ones of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn import functional
from validation.allocated.program import Network, Program


class OneKernelNorm(torch.autograd.Function):
    """An RMS norm that keeps what the kernel for CUDA keeps: its input, and a number per token."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(
            values, weight, values.new_empty(values.shape[:-1], dtype=torch.float32)
        )
        return torch.empty_like(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        values, weight, _ = ctx.saved_tensors
        return torch.empty_like(values), torch.empty_like(weight)


class OneKernelDropout(torch.autograd.Function):
    """Dropout that keeps what the kernel for CUDA keeps: a byte per value."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.save_for_backward(torch.empty_like(values, dtype=torch.bool))
        return torch.empty_like(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return torch.empty_like(gradient)


class Norm(nn.Module):
    """PyTorch's RMS norm as it is on CUDA; without a device it is many kernels."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, values: Tensor) -> Tensor:
        if not isinstance(values, DTensor):
            return OneKernelNorm.apply(values, self.weight)
        weight = self.weight.to_local() if isinstance(self.weight, DTensor) else self.weight
        made = OneKernelNorm.apply(values.to_local(), weight)
        return DTensor.from_local(made, values.device_mesh, values.placements)


class Attention(nn.Module):
    """Grouped queries, rotated as torchtitan does: as complex numbers in fp32."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.head = network.hidden // network.heads
        keys = network.kv_heads * self.head
        self.q_proj = nn.Linear(network.hidden, network.hidden, bias=False)
        self.k_proj = nn.Linear(network.hidden, keys, bias=False)
        self.v_proj = nn.Linear(network.hidden, keys, bias=False)
        self.o_proj = nn.Linear(network.hidden, network.hidden, bias=False)

    def forward(self, values: Tensor, turns: Tensor) -> Tensor:
        batch = values.shape[0]
        made = (each(values) for each in (self.q_proj, self.k_proj, self.v_proj))
        queries, keys, contents = (each.view(batch, each.shape[1], -1, self.head) for each in made)
        tokens = queries.shape[1]
        queries, keys = (_turned(each, turns).transpose(1, 2) for each in (queries, keys))
        found = functional.scaled_dot_product_attention(
            queries, keys, contents.transpose(1, 2), is_causal=True, enable_gqa=True
        )
        return self.o_proj(found.transpose(1, 2).reshape(batch, tokens, -1))


def _turned(values: Tensor, turns: Tensor) -> Tensor:
    pairs = torch.view_as_complex(values.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(values)


class FeedForward(nn.Module):
    """Two branches, one of which gates the other."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(network.hidden, network.width, bias=False)
        self.up_proj = nn.Linear(network.hidden, network.width, bias=False)
        self.down_proj = nn.Linear(network.width, network.hidden, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(values)) * self.up_proj(values))


class Block(nn.Module):
    """Attention and a feed-forward part, each with a norm before it."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.attention_norm, self.self_attn = Norm(network.hidden), Attention(network)
        self.ffn_norm, self.mlp = Norm(network.hidden), FeedForward(network)

    def forward(self, values: Tensor, turns: Tensor) -> Tensor:
        values = values + self.self_attn(self.attention_norm(values), turns)
        return values + self.mlp(self.ffn_norm(values))


class Plain(nn.Module):
    """A decoder, or the part of one that a stage of a pipeline has."""

    def __init__(
        self, network: Network, *, sequence: int, layers: int, ends: tuple[bool, bool]
    ) -> None:
        super().__init__()
        first, last = ends
        self.embed = nn.Embedding(network.vocabulary, network.hidden) if first else None
        self.layers = nn.ModuleList(Block(network) for _ in range(layers))
        self.norm = Norm(network.hidden) if last else None
        self.head = nn.Linear(network.hidden, network.vocabulary, bias=False) if last else None
        head = network.hidden // network.heads // 2
        self.turns = torch.ones(sequence, 1, head, dtype=torch.complex64)
        if network.tied:
            self.head.weight = self.embed.weight

    def forward(self, values: Tensor) -> Tensor:
        if self.embed is not None:
            values = self.embed(values)
        for each in self.layers:
            values = each(values, self.turns)
        return values if self.head is None else self.head(self.norm(values))


class Adapter(nn.Module):
    """A frozen product with the two thin ones that peft puts beside it, which are in fp32."""

    def __init__(self, base: nn.Linear, rank: int, dropout: float) -> None:
        super().__init__()
        self.base, self.dropout = base, dropout
        self.down = nn.Linear(base.in_features, rank, bias=False, dtype=torch.float32)
        self.up = nn.Linear(rank, base.out_features, bias=False, dtype=torch.float32)

    def forward(self, values: Tensor) -> Tensor:
        found = self.base(values)
        entered = values.to(self.down.weight.dtype)
        entered = OneKernelDropout.apply(entered) if self.dropout else entered
        made = self.up(self.down(entered)) * 2.0
        return (found + made).to(found.dtype)


def blocks_of(model: nn.Module) -> nn.ModuleList:
    """The layers that repeat."""
    if isinstance(model, Plain):
        return model.layers
    inner: nn.Module = model.base_model
    return inner.layers  # type: ignore[return-value]


def adapt(model: nn.Module, program: Program) -> None:
    """Freezes a model and puts adapters beside its products."""
    model.requires_grad_(False)
    for block in blocks_of(model):
        for name, module in list(block.named_modules()):
            if name.rpartition(".")[2] in program.targets:
                parent = block.get_submodule(name.rpartition(".")[0])
                setattr(
                    parent, name.rpartition(".")[2], Adapter(module, program.lora, program.dropout)
                )


def build(program: Program, *, stages: tuple[int, int] = (0, 1)) -> nn.Module:
    """The model of a program, or the part that one of some stages has."""
    network, (stage, count) = program.network, stages
    if network.stack == "plain":
        return Plain(
            network,
            sequence=program.sequence,
            layers=network.layers // count,
            ends=(stage == 0, stage == count - 1),
        )
    return _of_transformers(program)


def _of_transformers(program: Program) -> nn.Module:
    from transformers import (
        AutoModelForCausalLM,
        GPTNeoXConfig,
        LlamaConfig,
        Qwen2Config,
        masking_utils,
    )

    # Positions have no values that could show that samples are not packed, as they are not.
    masking_utils.find_packed_sequence_indices = lambda positions: None

    network = program.network
    sizes: dict[str, Any] = {
        "hidden_size": network.hidden,
        "intermediate_size": network.width,
        "num_hidden_layers": network.layers,
        "num_attention_heads": network.heads,
        "vocab_size": network.vocabulary,
        "tie_word_embeddings": network.tied,
        "max_position_embeddings": program.sequence,
        "use_cache": False,
    }
    kinds = {"llama": LlamaConfig, "qwen2": Qwen2Config, "gpt-neox": GPTNeoXConfig}
    if network.kind != "gpt-neox":
        sizes["num_key_value_heads"] = network.kv_heads
    config = kinds[network.kind](**sizes)
    kernel = {"flash": "sdpa", "plain": "eager"}[program.attention]
    return AutoModelForCausalLM.from_config(config, attn_implementation=kernel)


def parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Those that are trained."""
    return (each for each in model.parameters() if each.requires_grad)
