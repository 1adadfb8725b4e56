"""Runs a program as rank 0 of its devices, on tensors without values: what it allocates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Replicate, distribute_tensor
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn import functional
from torch.testing._internal.distributed.fake_pg import FakeStore
from validation.allocated.dividing import divide
from validation.allocated.networks import Plain, adapt, blocks_of, build, parameters
from validation.allocated.program import Program
from validation.allocated.tracking import (
    BACKWARD,
    FORWARD,
    GRADIENTS,
    OPTIMIZER,
    UPDATE,
    WEIGHTS,
    Tracker,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a stage allocated in its second step.

    Attributes:
        phases: bytes at the peak of each phase, by component.
        held: bytes that PyTorch's allocator would hold for that, segments that stay included.
    """

    phases: Mapping[str, Mapping[str, int]]
    held: int


STEPS = 2
"""The optimizer makes its state in the first; the second is read."""

TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


@contextmanager
def devices(program: Program) -> Iterator[DeviceMesh]:
    """A process group whose other members are not there."""
    count = program.data * program.tensor
    dist.init_process_group("fake", rank=0, world_size=count, store=FakeStore())
    joined = DeviceMesh._concatenate

    def joined_for_real(*args: Any, **kwargs: Any) -> Any:
        # Its members are numbers, which must have values.
        with unset_fake_temporarily():
            return joined(*args, **kwargs)

    DeviceMesh._concatenate = staticmethod(joined_for_real)
    try:
        yield init_device_mesh(
            "cpu", (program.data, program.tensor), mesh_dim_names=("data", "tensor")
        )
    finally:
        DeviceMesh._concatenate = joined
        dist.destroy_process_group()


def run(program: Program) -> list[Ran]:
    """What each stage allocates in a step."""
    with devices(program) as mesh, FakeTensorMode(allow_non_fake_inputs=True):
        return [_stage(program, mesh, stage) for stage in range(program.pipeline)]


def _stage(program: Program, mesh: DeviceMesh, stage: int) -> Ran:
    tracker = Tracker(reduces=program.sharded and program.data > 1)
    model = prepared(program, mesh, stage)
    with tracker.watching():
        for each in model.parameters():
            tracker.call(each, WEIGHTS)
            if each.requires_grad:
                each.register_post_accumulate_grad_hook(lambda it: tracker.call(it.grad, GRADIENTS))
        optimizer = _optimizer(program, model)
        for _ in range(STEPS):
            tracker.most.clear()
            _step(program, model, optimizer, tracker=tracker, stage=stage)
    phases = {phase: dict(found) for phase, found in tracker.most.items()}
    return Ran(phases=phases, held=tracker.allocator.held)


def prepared(program: Program, mesh: DeviceMesh, stage: int) -> nn.Module:
    """The model, divided and wrapped as the program says."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if program.precision == "bf16" else torch.float32)
    try:
        model = build(program, stages=(stage, program.pipeline)).train()
    finally:
        torch.set_default_dtype(usual)
    if program.lora:
        adapt(model, program)
    if program.tensor > 1:
        divide(model, mesh["tensor"])
    blocks = blocks_of(model)
    if program.recompute:
        for place, block in enumerate(blocks):
            blocks[place] = checkpoint_wrapper(block, preserve_rng_state=False)
    if program.recompute and program.lora:
        model.get_input_embeddings().register_forward_hook(
            lambda module, inputs, output: output.requires_grad_(True)
        )
    if program.data > 1 and program.sharded:
        policy = MixedPrecisionPolicy(
            param_dtype=None if program.precision == "fp32" else torch.bfloat16,
            reduce_dtype=TYPES[program.reduced],
        )
        for block in blocks:
            fully_shard(
                block,
                mesh=mesh["data"],
                mp_policy=policy,
                reshard_after_forward=program.reshard,
            )
        # What is around the layers stays gathered until its backward pass, as nobody says more.
        fully_shard(model, mesh=mesh["data"], mp_policy=policy)
    return model


def _optimizer(program: Program, model: nn.Module) -> torch.optim.Optimizer:
    mine = list(parameters(model))
    how = {"fused": True} if program.fused else {"foreach": True}
    if program.optimizer == "adamw":
        return torch.optim.AdamW(mine, **how)
    momentum = 0.9 if program.optimizer == "momentum" else 0.0
    return torch.optim.SGD(mine, lr=0.1, momentum=momentum, **how)


def _step(
    program: Program,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    tracker: Tracker,
    stage: int,
) -> None:
    held: list[Tensor] = []
    ahead = min(program.passes, program.pipeline - stage) if program.pipeline > 1 else 1
    for place in range(program.passes + ahead - 1):
        if place < program.passes:
            tracker.phase = FORWARD
            held.append(_forward(program, model, stage))
        if place >= ahead - 1:
            tracker.phase = BACKWARD
            _backward(program, held.pop(0))
    tracker.phase = UPDATE
    optimizer.step()
    for state in optimizer.state.values():
        for each in state.values():
            if isinstance(each, torch.Tensor):
                tracker.call(each, OPTIMIZER)
    optimizer.zero_grad()


def _forward(program: Program, model: nn.Module, stage: int) -> Tensor:
    size = (program.micro_batch, program.sequence)
    tokens = torch.randint(0, program.network.vocabulary, size)
    context = torch.autocast("cpu", torch.bfloat16, enabled=_casts(program))
    if not isinstance(model, Plain):
        with context:
            return model(input_ids=tokens, labels=tokens).loss
    if stage > 0:
        entered = torch.empty(
            *size, program.network.hidden, dtype=torch.bfloat16, requires_grad=True
        )
    with context:
        found = model(tokens if stage == 0 else entered)
    if stage < program.pipeline - 1:
        return found
    if program.tensor > 1:
        tokens = distribute_tensor(tokens, found.device_mesh, [Replicate()])
    with _divided(program):
        return functional.cross_entropy(found.float().flatten(0, 1), tokens.flatten())


def _divided(program: Program) -> AbstractContextManager[None]:
    """Whether a loss is computed of logits that are divided by vocabulary."""
    return loss_parallel() if program.tensor > 1 else nullcontext()


def _casts(program: Program) -> bool:
    return program.precision == "mixed" and not (program.data > 1 and program.sharded)


def _backward(program: Program, found: Tensor) -> None:
    # A stage that is not the last one is handed the gradient of what it handed on.
    gradient = torch.empty_like(found) if found.dim() else None
    with _divided(program):
        found.backward(gradient)
