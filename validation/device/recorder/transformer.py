"""Decoders and encoders on text: GPT, Llama and BERT, as their papers say."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from recorder.configuration import Attention, Family, Language, Recompute, Training

MASKED = 0.15
"""Share of the tokens that BERT predicts (Devlin et al. 2019, section 3.1)."""
DROPOUT = 0.1


class Rotation(nn.Module):
    """Turns queries and keys by their positions (Su et al. 2021)."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        speeds = 10000.0 ** -(torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(tokens), speeds).repeat(1, 2)
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, heads: Tensor) -> Tensor:
        """Turns heads. [sample, head, token, width]"""
        left, right = heads.chunk(2, dim=-1)
        turned = torch.cat((-right, left), dim=-1)
        return heads * self.cosine.to(heads.dtype) + turned * self.sine.to(heads.dtype)


class SelfAttention(nn.Module):
    """Heads that share keys and values in groups."""

    def __init__(self, sizes: Language, training: Training) -> None:
        super().__init__()
        self.sizes, self.training_of = sizes, training
        self.width = sizes.hidden // sizes.heads
        bias = sizes.family is not Family.LLAMA
        columns = (sizes.heads + 2 * sizes.kv_heads) * self.width
        self.enter = nn.Linear(sizes.hidden, columns, bias=bias)
        self.leave = nn.Linear(sizes.hidden, sizes.hidden, bias=bias)
        self.rotation = Rotation(training.size, self.width) if not bias else None
        self.dropout = DROPOUT if bias else 0.0

    def forward(self, stream: Tensor) -> Tensor:
        """What each token takes from the others. [sample, token, hidden]"""
        samples, tokens, _ = stream.shape
        heads = self.enter(stream).view(samples, tokens, -1, self.width).transpose(1, 2)
        groups = [self.sizes.heads, self.sizes.kv_heads, self.sizes.kv_heads]
        query, key, value = heads.split(groups, dim=1)
        if self.rotation is not None:
            query, key = self.rotation(query), self.rotation(key)
        shared = self.sizes.heads // self.sizes.kv_heads
        if shared > 1:
            key = key.repeat_interleave(shared, dim=1)
            value = value.repeat_interleave(shared, dim=1)
        if self.training_of.recompute is Recompute.SELECTIVE:
            found = checkpoint(self._core, query, key, value, use_reentrant=False)
        else:
            found = self._core(query, key, value)
        return self.leave(found.transpose(1, 2).reshape(samples, tokens, -1))

    def _core(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        causal = self.sizes.family is not Family.BERT
        if self.training_of.attention is Attention.FUSED:
            return functional.scaled_dot_product_attention(
                query, key, value, dropout_p=self.dropout, is_causal=causal
            )
        scores = query @ key.transpose(-2, -1) * self.width**-0.5
        if causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        shares = functional.dropout(scores.softmax(dim=-1), self.dropout)
        return shares.to(value.dtype) @ value


class FeedForward(nn.Module):
    """Two linear layers with GELU, or Llama's three with a gate."""

    def __init__(self, sizes: Language) -> None:
        super().__init__()
        bias = sizes.family is not Family.LLAMA
        self.rise = nn.Linear(sizes.hidden, sizes.feed_forward, bias=bias)
        self.gate = None if bias else nn.Linear(sizes.hidden, sizes.feed_forward, bias=False)
        self.fall = nn.Linear(sizes.feed_forward, sizes.hidden, bias=bias)

    def forward(self, stream: Tensor) -> Tensor:
        """What each token makes of itself. [sample, token, hidden]"""
        if self.gate is None:
            return self.fall(functional.gelu(self.rise(stream)))
        return self.fall(functional.silu(self.gate(stream)) * self.rise(stream))


class Block(nn.Module):
    """Attention and feed-forward, each with a norm before it, or after it in BERT."""

    def __init__(self, sizes: Language, training: Training) -> None:
        super().__init__()
        self.norms = nn.ModuleList(_norm(sizes) for _ in range(2))
        self.parts = nn.ModuleList([SelfAttention(sizes, training), FeedForward(sizes)])
        self.after = sizes.family is Family.BERT
        self.dropout = 0.0 if sizes.family is Family.LLAMA else DROPOUT

    def forward(self, stream: Tensor) -> Tensor:
        """The stream after the block. [sample, token, hidden]"""
        for norm, part in zip(self.norms, self.parts, strict=True):
            added = part(stream if self.after else norm(stream))
            stream = stream + functional.dropout(added, self.dropout)
            stream = norm(stream) if self.after else stream
        return stream


class Transformer(nn.Module):
    """The body of all three: embedding, blocks, and what comes before the head."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        sizes = training.network
        assert isinstance(sizes, Language)
        self.sizes, self.recompute = sizes, training.recompute
        self.tokens = nn.Embedding(sizes.vocabulary, sizes.hidden)
        learned = sizes.family is not Family.LLAMA
        most = 512 if sizes.family is Family.BERT else training.size
        self.positions = nn.Embedding(most, sizes.hidden) if learned else None
        self.blocks = nn.ModuleList(Block(sizes, training) for _ in range(sizes.layers))
        self.norm = _norm(sizes)

    def embedded(self, tokens: Tensor) -> Tensor:
        """Tokens with their positions. [sample, token, hidden]"""
        stream: Tensor = self.tokens(tokens)
        if self.positions is None:
            return stream
        return stream + self.positions.weight[: tokens.shape[1]]

    def through(self, stream: Tensor) -> Tensor:
        """The stream after all blocks. [sample, token, hidden]"""
        for block in self.blocks:
            if self.recompute is Recompute.FULL:
                stream = checkpoint(block, stream, use_reentrant=False)
            else:
                stream = block(stream)
        return stream


class Decoder(Transformer):
    """GPT or Llama, with a head that may share the embedding's weights."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self.head = nn.Linear(self.sizes.hidden, self.sizes.vocabulary, bias=False)
        self.dropout = DROPOUT if self.sizes.family is Family.GPT else 0.0
        if self.sizes.tied:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """The loss of predicting each next token."""
        stream = functional.dropout(self.embedded(tokens), self.dropout)
        scores = self.head(self.norm(self.through(stream)))
        return functional.cross_entropy(scores.flatten(0, 1).float(), tokens.flatten())


class Encoder(Transformer):
    """BERT with both heads of its pre-training."""

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        hidden, vocabulary = self.sizes.hidden, self.sizes.vocabulary
        self.kinds = nn.Embedding(2, hidden)
        self.transform = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), _norm(self.sizes))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.pooler = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, tokens: Tensor) -> Tensor:
        """The loss of predicting masked tokens, and whether the second sentence follows."""
        stream = self.embedded(tokens) + self.kinds.weight[0]
        stream = self.through(functional.dropout(self.norm(stream), DROPOUT))
        masked = stream[:, : round(MASKED * tokens.shape[1])].flatten(0, 1)
        scores = functional.linear(self.transform(masked), self.tokens.weight, self.bias)
        asked = tokens[:, : round(MASKED * tokens.shape[1])].flatten()
        follows = torch.zeros(len(tokens), dtype=torch.long, device=tokens.device)
        pair = functional.cross_entropy(self.pooler(stream[:, 0]).float(), follows)
        return functional.cross_entropy(scores.float(), asked) + pair


def _norm(sizes: Language) -> nn.Module:
    plain: Callable[[int], nn.Module] = nn.LayerNorm
    return (nn.RMSNorm if sizes.family is Family.LLAMA else plain)(sizes.hidden)
