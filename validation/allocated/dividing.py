"""A plain decoder divided over a tensor axis, tokens between products too, as torchtitan does."""

from __future__ import annotations

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from validation.allocated.networks import Plain


def divide(model: nn.Module, mesh: DeviceMesh) -> None:
    """Products by columns and by rows, norms by tokens; logits stay divided by vocabulary."""
    assert isinstance(model, Plain)
    tokens, every = Shard(1), Replicate()
    ends = {
        "embed": RowwiseParallel(input_layouts=every, output_layouts=tokens),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(
            input_layouts=tokens, output_layouts=Shard(-1), use_local_output=False
        ),
    }
    present = {name: how for name, how in ends.items() if getattr(model, name) is not None}
    parallelize_module(model, mesh, present)
    by_rows = RowwiseParallel(output_layouts=tokens)
    for block in model.layers:
        parallelize_module(
            block,
            mesh,
            {
                "attention_norm": SequenceParallel(),
                "ffn_norm": SequenceParallel(),
                "self_attn": PrepareModuleInput(
                    input_layouts=(tokens, None), desired_input_layouts=(every, None)
                ),
                "mlp": PrepareModuleInput(input_layouts=(tokens,), desired_input_layouts=(every,)),
                "self_attn.q_proj": ColwiseParallel(),
                "self_attn.k_proj": ColwiseParallel(),
                "self_attn.v_proj": ColwiseParallel(),
                "self_attn.o_proj": by_rows,
                "mlp.gate_proj": ColwiseParallel(),
                "mlp.up_proj": ColwiseParallel(),
                "mlp.down_proj": by_rows,
            },
        )
