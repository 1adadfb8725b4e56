"""Traces of a profiler: what a step was spent on, from the Chrome trace that Kineto writes.

Every moment of a step belongs to one class of operators: to the kernel that computes; on a
processor to the innermost operator, for operators call one another; to an exchange where nothing
computes beside it; and else the step waits. So the classes add up to the step.

Sources: traceevent2016 (complete events); kineto2026 (categories, ProfilerStep, External id), as
torch.profiler of torch 2.13 writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from itertools import pairwise
from math import inf, isfinite
from statistics import fmean
from typing import Any, Final

from foretrain.errors import InputError

MICROSECOND: Final = 1e-6

STEP: Final = re.compile(r"ProfilerStep#\d+")
UPDATE: Final = re.compile(r"Optimizer\.step#")

KERNELS: Final = ("kernel", "gpu_memcpy", "gpu_memset")
OPERATORS: Final = "cpu_op"
SAID: Final = ("gpu_user_annotation", "user_annotation")
"""Categories: what a device runs, what a processor runs, and what a program names."""


class OperatorClass(StrEnum):
    """What a moment of a step is spent on."""

    PRODUCTS = "matrix products"
    ATTENTION = "attention"
    LOSS = "loss"
    OTHER = "other kernels"
    RECOMPUTE = "recomputation"
    """Told of predictions alone: a profiler counts it with what is run again."""
    UPDATE = "update"
    EXCHANGES = "exchanges"
    WAITING = "waiting and host"


NAMED: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (OperatorClass.LOSS, r"(?i)cross_?entropy|nll_?loss|log_?softmax"),
        (
            OperatorClass.EXCHANGES,
            r"(?i)^(nccl|gloo|c10d|rccl|memcpy (h2d|d2h|htod|dtoh))|record_param_comms",
        ),
        (
            OperatorClass.ATTENTION,
            r"(?i)scaled_dot_product|flash|fmha|attention|softmax|\bb(add)?bmm\b|\bbmm\b",
        ),
        (
            OperatorClass.PRODUCTS,
            r"(?i)\b(mm|addmm|_scaled_mm|_grouped_mm|matmul|linear)\b|conv\w*d\b|convolution|"
            r"gemm|cutlass|cublas|nvjet|wgmma|mkldnn",
        ),
        (OperatorClass.UPDATE, r"(?i)multi_tensor_apply|fused_(adam|sgd)"),
    )
)
"""Classes by the names of operators and kernels; the first that fits."""

RUNS: Final = re.compile(r"^(?!autograd::)\w+::|^(record_param_comms|nccl|gloo)")
"""How operators begin that do work themselves; what calls them, the host spends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledPiece:
    """A piece of a step that is spent on one thing.

    Attributes:
        name: of the operator or kernel.
        kind: its class.
        start: seconds since the step began.
        end: seconds until it ends, to the last digit where the next one begins.
    """

    name: str
    kind: OperatorClass
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledStep:
    """What a profiler saw of the steps of one process.

    Attributes:
        step_time: seconds of a step, the mean.
        steps: how many.
        seconds: of a step by class, the mean; they add up to it.
        pieces: of the first step, in order.
    """

    step_time: float
    steps: int
    seconds: Mapping[OperatorClass, float]
    pieces: tuple[ProfiledPiece, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """A stretch in which something runs, in microseconds."""

    start: float
    end: float
    name: str
    kind: OperatorClass


def profiled(document: Mapping[str, Any]) -> ProfiledStep:
    """What the steps of a trace were spent on.

    Args:
        document: the trace.

    Raises:
        InputError: it names no steps, or nothing runs in them.
    """
    events = [each for each in document["traceEvents"] if _is_complete(each)]
    windows = _windows(events)
    pieces = [[*_pieces(each, window)] for each, window in _by_step(_busy(events), windows)]
    if not any(pieces):
        raise InputError("holds no operators and no kernels in its steps.")
    totals: dict[OperatorClass, float] = dict.fromkeys(OperatorClass, 0.0)
    for piece in (piece for step in pieces for piece in step):
        totals[piece.kind] += piece.seconds
    steps = len(windows)
    step_time = fmean((end - start) * MICROSECOND for start, end in windows)
    seconds = {kind: total / steps for kind, total in totals.items()}
    busy = sum(seconds.values()) - seconds[OperatorClass.WAITING]
    seconds[OperatorClass.WAITING] = step_time - busy
    return ProfiledStep(step_time=step_time, steps=steps, seconds=seconds, pieces=tuple(pieces[0]))


def _is_complete(event: object) -> bool:
    return (
        isinstance(event, Mapping)
        and event.get("ph") == "X"
        and all(isinstance(event.get(name), int | float) for name in ("ts", "dur"))
        and isfinite(event["ts"])
        and 0 < event["dur"] < inf
        and isinstance(event.get("name"), str)
    )


Window = tuple[float, float]


def _windows(events: Sequence[Mapping[str, Any]]) -> list[Window]:
    """Where steps begin and end, as the device saw them or else the program."""
    for category in SAID:
        found = sorted(
            (each["ts"], each["ts"] + each["dur"])
            for each in events
            if each.get("cat") == category and STEP.fullmatch(each["name"])
        )
        if found:
            return found
    raise InputError(
        "names no steps (ProfilerStep#1). Profile with a schedule, and call prof.step() after "
        "every step of the training."
    )


def _busy(events: Sequence[Mapping[str, Any]]) -> list[Busy]:
    """What runs: kernels of a device, or else operators of a processor; in order."""
    updates = sorted(
        (each["ts"], each["ts"] + each["dur"])
        for each in events
        if each.get("cat") == "user_annotation" and UPDATE.match(each["name"])
    )
    operators = [each for each in events if each.get("cat") == OPERATORS]
    kernels = [each for each in events if each.get("cat") in KERNELS]
    called = {_id(each): each for each in operators}
    found = []
    for each in kernels or operators:
        # A kernel is what the operator is that called it; kernels of compilers have names alone.
        caller = called.get(_id(each), each) if kernels and _id(each) is not None else each
        kind = _kind(caller["name"])
        kind = _kind(each["name"]) if kind is OperatorClass.OTHER else kind
        inside = any(start <= caller["ts"] <= end for start, end in updates)
        if inside and kind is not OperatorClass.EXCHANGES:
            kind = OperatorClass.UPDATE
        elif not kernels and not RUNS.match(each["name"]):
            kind = OperatorClass.WAITING
        found.append(Busy(each["ts"], each["ts"] + each["dur"], each["name"], kind))
    return sorted(found, key=lambda each: each.start)


def _id(event: Mapping[str, Any]) -> int | None:
    told = event.get("args")
    number = told.get("External id") if isinstance(told, Mapping) else None
    return number if isinstance(number, int) else None


def _kind(name: str) -> OperatorClass:
    """The class of an operator or a kernel."""
    return next((kind for kind, each in NAMED if each.search(name)), OperatorClass.OTHER)


def _by_step(
    busy: Sequence[Busy], windows: Sequence[Window]
) -> Iterator[tuple[list[Busy], Window]]:
    """Of every step, what runs in it."""
    for window in windows:
        yield [each for each in busy if each.end > window[0] and each.start < window[1]], window


def _pieces(busy: Sequence[Busy], window: Window) -> Iterator[ProfiledPiece]:
    """A step in pieces, of which each is spent on one thing.

    What began last runs: the innermost of operators that call one another. Exchanges run where
    nothing else does.
    """
    begin, until = window
    moments = sorted({min(max(at, begin), until) for each in busy for at in (each.start, each.end)})
    running: list[tuple[bool, float, int]] = []
    at = 0
    for now, then in pairwise(moments):
        while at < len(busy) and busy[at].start <= now:
            heappush(running, (busy[at].kind is OperatorClass.EXCHANGES, -busy[at].start, at))
            at += 1
        while running and busy[running[0][2]].end <= now:
            heappop(running)
        if running:
            found = busy[running[0][2]]
            yield ProfiledPiece(
                name=found.name,
                kind=found.kind,
                start=(now - begin) * MICROSECOND,
                end=(then - begin) * MICROSECOND,
            )
