"""Which stage sets the pace? Each stage of a real run is slowed in turn; the finding must name it.

    python benchmarks/ensemble_bottleneck.py [RUNS]

Every run draws its own number of members, samples per step, and how slow the slow stage is. It
waits, as for a disk or a GPU, or computes; a slow transport waits in the conductor, for every
message. The other stages compute, for a tenth of a millisecond per sample.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from batchcast import stream
from batchcast.conductor import Conductor
from batchcast.serve import Serving, serve
from foretrain.ensemble.train import ensemble_run
from foretrain.measured.ensemble_study import (
    Bottleneck,
    Code,
    EnsembleStudy,
    HandingCosts,
    Input,
    Logs,
    MemberOptimizer,
    Probed,
    Recipe,
    SampleCosts,
    Stage,
    StepCosts,
)

if TYPE_CHECKING:
    import torch

Sample = tuple[NDArray[np.float32], np.float32]

RUNS = 5
TOLD = "FORETRAIN_BENCHMARK_SLOWNESS"
"""Variable of the environment."""

QUICK = 1e-4
"""Seconds that a sample takes in each stage that is not slow."""

SLOW = (3e-3, 8e-3)
"""Between which it takes in the slow one."""

MESSAGE = 10.0
"""Samples of the other stages whose slowness a message of a slow transport has."""


@dataclass(frozen=True, kw_only=True)
class Slowness:
    """Seconds that a sample takes in each stage, told to all processes in the environment.

    Attributes:
        reader: in the data set.
        decoder: in the shared transform.
        trainer: in the step.
        message: that the conductor waits before each message.
        waits: whether the slow stage waits; otherwise it computes.
        samples: of an epoch.
    """

    reader: float = QUICK
    decoder: float = QUICK
    trainer: float = QUICK
    message: float = 0.0
    waits: bool = True
    samples: int = 300


def slowness() -> Slowness:
    """What was told last."""
    return _read(os.environ.get(TOLD, "{}"))


@cache
def _read(told: str) -> Slowness:
    return Slowness(**json.loads(told))


class Samples:
    """Small samples that take a while to read."""

    def __len__(self) -> int:
        return slowness().samples

    def __getitem__(self, place: int) -> Sample:
        spend(slowness().reader)
        return np.full(64, place / len(self), np.float32), np.float32(place % 2)


def decode(sample: Sample) -> Sample:
    """Compute for a while."""
    spend(slowness().decoder)
    return sample


def build() -> torch.nn.Module:
    """A model of one layer."""
    from torch import nn

    return nn.Sequential(nn.Linear(64, 1), nn.Flatten(0))


def loss(model: torch.nn.Module, batch: Sequence[torch.Tensor]) -> torch.Tensor:
    """A step that takes a while."""
    values, wanted = batch
    spend(slowness().trainer * len(values))
    return ((model(values) - wanted) ** 2).mean()


def spend(seconds: float) -> None:
    """Wait, or keep a core busy."""
    if slowness().waits and seconds > SLOW[0] / 2:
        time.sleep(seconds)
        return
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def serve_slowly(seconds: float, serving: Serving, descriptors: Sequence[int]) -> None:
    """Serve a stream by a conductor that waits so long before every message."""
    quick: Callable[[Conductor], None] = Conductor._advance

    def slow(conductor: Conductor) -> None:
        time.sleep(seconds)
        quick(conductor)

    Conductor._advance = slow  # type: ignore[method-assign]
    serve(serving, descriptors)


@contextmanager
def told(slow: Slowness) -> Iterator[None]:
    """All processes that are started meanwhile are so slow, and the conductor too."""
    os.environ[TOLD] = json.dumps(asdict(slow))
    stream.serve = partial(serve_slowly, slow.message)  # type: ignore[assignment]
    try:
        yield
    finally:
        stream.serve = serve
        del os.environ[TOLD]


def found_when(stage: Stage, draw: random.Random, *, samples: int = 300) -> Bottleneck | None:
    """What a run finds while one stage is slow."""
    slow = draw.uniform(*SLOW)
    waits = draw.random() < 0.5
    name, seconds = ("message", MESSAGE * slow) if stage is Stage.TRANSPORT else (stage, slow)
    with told(Slowness(samples=samples, waits=waits, **{str(name): seconds})):
        return ensemble_run(study(draw, samples)).bottleneck


def study(draw: random.Random, samples: int) -> EnsembleStudy:
    """One or two members, some samples per step."""
    here = __name__ if __name__ != "__main__" else "ensemble_bottleneck"
    recipes = [
        Recipe(
            name=f"member-{number}",
            model=Code(here, "build"),
            batch=draw.choice([8, 10, 16, 25]),
            optimizer=MemberOptimizer(name="sgd", options={"lr": 0.01}),
            loss=Code(here, "loss"),
            epochs=1,
        )
        for number in range(draw.choice([1, 2]))
    ]
    alone = {each.name: StepCosts(rate=1e3, cpu=1e-3, memory=1e7) for each in recipes}
    sample = SampleCosts(prepare=1e-3, seconds=1e-3, size=260, count=samples)
    return EnsembleStudy(
        name=f"bottleneck-{os.getpid()}",
        data=Code(here, "Samples"),
        shared=Code(here, "decode"),
        recipes=tuple(recipes),
        workers=1,
        input=Input.SHARED,
        logs=Logs(every=0.1),
        given=Probed(sample=sample, handing=HandingCosts(), members=alone, measured=False),
        folder="benchmarks",
    )


def main(runs: int) -> None:
    """Print every finding, and how many were right."""
    right = 0
    for stage in Stage:
        for seed in range(runs):
            found = found_when(stage, random.Random(f"{stage} {seed}"))
            named = found.stage if found else None
            right += named is stage
            print(f"{stage:<10} run {seed}: {named}  {found.evidence if found else ''}", flush=True)
    print(f"{right} of {runs * len(Stage)} right")


if __name__ == "__main__":
    import ensemble_bottleneck

    ensemble_bottleneck.main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
