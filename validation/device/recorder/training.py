"""One training on one device: its network, its optimizer, its step, its memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import nn

from recorder.configuration import Family, Precision, Training, Vision
from recorder.convolution import Classifier
from recorder.machine import Machine
from recorder.memory import memory_of, start_of_memory
from recorder.outcome import Outcome
from recorder.timing import Mark, timed
from recorder.transformer import Decoder, Encoder

CAST = {Precision.FP16_MIXED: torch.float16, Precision.BF16_MIXED: torch.bfloat16}


def outcome_of(training: Training, machine: Machine, *, repeats: int) -> Outcome:
    """Runs a training for some steps."""
    gc.collect()
    _allow_tf32(training.precision is Precision.TF32)
    before = start_of_memory(machine)
    parameters = 0
    try:
        network = _network(training, machine)
        parameters = sum(each.numel() for each in network.parameters())
        step = _step(network, training, machine)
        timing = timed(step, machine.clock, repeats=repeats)
    except torch.OutOfMemoryError:
        return Outcome(timing=None, memory=None, parameters=parameters)
    return Outcome(timing=timing, memory=memory_of(machine, before), parameters=parameters)


def _allow_tf32(allowed: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed
    torch.backends.cudnn.benchmark = True


def _network(training: Training, machine: Machine) -> nn.Module:
    torch.manual_seed(0)
    kind: Callable[[Training], nn.Module] = {
        Family.GPT: Decoder,
        Family.LLAMA: Decoder,
        Family.BERT: Encoder,
    }.get(training.network.family, Classifier)
    with torch.device(machine.device):
        network = kind(training)
    if training.precision is Precision.BF16_TRUE:
        network = network.to(torch.bfloat16)
    return network.to(memory_format=_order(training)) if training.channels_last else network


def _order(training: Training) -> torch.memory_format:
    return torch.channels_last if training.channels_last else torch.contiguous_format


def _samples(training: Training, machine: Machine) -> torch.Tensor:
    network = training.network
    if isinstance(network, Vision):
        shape = (training.batch, 3, training.size, training.size)
        true = training.precision is Precision.BF16_TRUE
        images = torch.randn(shape, device=machine.device)
        images = images.to(torch.bfloat16 if true else torch.float32)
        return images.contiguous(memory_format=_order(training))
    shape = (training.batch, training.size)
    return torch.randint(network.vocabulary, shape, device=machine.device)


def _step(network: nn.Module, training: Training, machine: Machine) -> Callable[[Mark], None]:
    """One step on the same samples again and again: no input pipeline is measured."""
    samples = _samples(training, machine)
    optimizer = _optimizer(network, training)
    cast = CAST.get(training.precision)
    scaler = torch.amp.GradScaler(
        machine.device, enabled=training.precision is Precision.FP16_MIXED
    )

    def step(mark: Mark) -> None:
        mark()
        with torch.autocast(machine.device, dtype=cast) if cast else nullcontext():
            loss = network(samples)
        mark()
        scaler.scale(loss).backward()
        mark()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        mark()

    return step


def _optimizer(network: nn.Module, training: Training) -> torch.optim.Optimizer:
    """SGD with momentum for images, AdamW for text, each in one kernel."""
    if isinstance(training.network, Vision):
        return torch.optim.SGD(network.parameters(), lr=1e-4, momentum=0.9, fused=True)
    return torch.optim.AdamW(network.parameters(), lr=1e-5, fused=True)
