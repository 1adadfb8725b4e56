"""Studies of an ensemble: its models, data and sharing, and what is known before it runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from typing import Final

from foretrain.errors import InputError


class Stage(StrEnum):
    """What a sample goes through, in order."""

    READER = "reader"
    """The data set: finding and reading a sample."""

    DECODER = "decoder"
    """The transform that all members share."""

    TRANSPORT = "transport"
    """From a worker to the members."""

    TRAINER = "trainer"
    """The members' own transforms and steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The stage that sets the pace.

    Attributes:
        stage: which one.
        share: of the time that it works; for transport, that workers and members both wait.
        evidence: what was seen, in words.
        remedy: what would help, in words.
    """

    stage: Stage
    share: float
    evidence: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCosts:
    """What one sample costs whoever prepares it.

    Attributes:
        prepare: core-seconds to read and decode it: what members can share.
        seconds: from asking for it to having it, one at a time.
        size: bytes, as members get it.
        memory: bytes that a process which prepares samples holds by itself.
        count: samples of an epoch; None where the data set does not tell.
    """

    prepare: float
    seconds: float
    size: float
    memory: float = 0.0
    count: int | None = None

    def __post_init__(self) -> None:
        for name in ("prepare", "seconds", "size"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"SampleCosts.{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCosts:
    """One member on its own, with samples always at hand.

    Attributes:
        rate: samples per second.
        cpu: core-seconds per sample: its own transform and its step.
        memory: bytes of the host that its process holds by itself.
        device_memory: bytes of a GPU that it holds; 0 on the CPU.
    """

    rate: float
    cpu: float
    memory: float
    device_memory: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < inf:
            raise InputError(f"StepCosts.rate must be above 0 samples/s, got {self.rate}.")
        for name in ("cpu", "memory", "device_memory"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"StepCosts.{name} must be at least 0, got {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandingCosts:
    """What it costs to hand one sample on, once it is prepared.

    Attributes:
        store: core-seconds to put it where members read it, the stream's bookkeeping included.
        deliver: core-seconds in which a reader of a stream is given it.
        collate: core-seconds in which a member without a stream puts it into a batch.
        queue: core-seconds in which a worker of a DataLoader hands it on, and its loop takes it.
        contention: share of its time alone by which work slows down per further core at work.
        by_session: whether the kernel deals cores out to sessions, not to processes.
    """

    store: float = 0.0
    deliver: float = 0.0
    collate: float = 0.0
    queue: float = 0.0
    contention: float = 0.0
    by_session: bool = False

    def __post_init__(self) -> None:
        for name in ("store", "deliver", "collate", "queue"):
            if not 0 <= getattr(self, name) < inf:
                raise InputError(f"HandingCosts.{name} must be at least 0, got {self}.")
        if not 0 <= self.contention < 1:
            raise InputError(
                f"HandingCosts.contention must be at least 0 and below 1, got {self.contention}."
            )


PER_SAMPLE: Final = HandingCosts(
    store=0.26e-6, deliver=0.46e-6, collate=0.12e-6, queue=6.5e-6, contention=0.06, by_session=True
)
PER_BYTE: Final = HandingCosts(store=55e-12, deliver=97e-12, collate=44e-12, queue=0.81e-9)
"""Of a small sample, and of each byte of a large one, on an AMD EPYC with two cores.

Source: `python -m validation.ensemble_predictions --handing`, 2026-11-28; no ensemble's run."""


def usual_handing(size: float) -> HandingCosts:
    """What handing on a sample of so many bytes takes where nobody measured it.

    The form is that of a message: so much for each sample, and so much for each byte.

    Args:
        size: bytes of a sample.
    """
    costs = ("store", "deliver", "collate", "queue")
    of = {each: getattr(PER_SAMPLE, each) + size * getattr(PER_BYTE, each) for each in costs}
    return replace(PER_SAMPLE, **of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What is known of an ensemble before it runs.

    Attributes:
        sample: of the data set.
        handing: a sample from one process to another.
        members: each on its own, by name.
        measured: whether this machine measured it, a moment ago; otherwise the study says it.
        usual: whether handing on is what it took on another machine.
    """

    sample: SampleCosts
    handing: HandingCosts
    members: Mapping[str, StepCosts]
    measured: bool = True
    usual: bool = False


MEMBER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*")
"""Of members: they name files too."""

STREAM_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,50}")

LOSSES: Final = ("cross_entropy", "mse_loss", "l1_loss", "binary_cross_entropy_with_logits")
"""Functions of `torch.nn.functional` that take what a model says and what it should have said."""

OPTIMIZERS: Final = ("sgd", "adam", "adamw", "rmsprop", "adagrad")


class Input(StrEnum):
    """How members get their samples."""

    AUTO = "auto"
    """As the selector finds best, once rates are measured."""

    SHARED = "shared"
    PRIVATE = "private"


class Lag(StrEnum):
    """What happens when a member falls behind the others."""

    BLOCK = "block"
    DETACH = "detach"
    SPILL = "spill"
    DROP = "drop"


class OnError(StrEnum):
    """What a sample does that a transform cannot read."""

    RAISE = "raise"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, order=True)
class Code:
    """A function that a study names: `package.module:function`.

    Attributes:
        module: where it is.
        name: what it is called there.
    """

    module: str
    name: str

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptimizer:
    """How weights move.

    Attributes:
        name: one of `OPTIMIZERS`, or a function that is called with the parameters.
        options: what it is called with besides, such as lr.
    """

    name: str | Code
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one member is trained.

    Attributes:
        name: of the member, unique in its ensemble.
        model: builds it.
        options: what that is called with.
        batch: samples per step.
        optimizer: how weights move.
        loss: one of `LOSSES`, for batches of (input, target); or a function of model and batch.
        epochs: how often it sees every sample.
        lag: what happens when it falls behind.
        private: turns a shared sample into its own; None to take it as it is.
        device: "cpu", "auto", or one of torch's names such as "cuda:0".
        process: of the members that name the same one, which train in it step by step in turns;
            None for a process of its own.
    """

    name: str
    model: Code
    options: Mapping[str, object] = field(default_factory=dict)
    batch: int
    optimizer: MemberOptimizer
    loss: str | Code
    epochs: int
    lag: Lag = Lag.BLOCK
    private: Code | None = None
    device: str = "cpu"
    process: str | None = None

    def __post_init__(self) -> None:
        if not MEMBER_NAME.fullmatch(self.name):
            raise InputError(
                f"Recipe.name '{self.name}' names files too: letters, digits and . _ = + - only,"
                " the first a letter or digit."
            )
        if not (self.batch >= 1 and self.epochs >= 1):
            raise InputError(f"Recipe.batch and epochs of {self.name} must be at least 1.")
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise InputError(
                f"Recipe.loss '{self.loss}' is not known. Known: {', '.join(LOSSES)};"
                " or write package.module:function, called with model and batch."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Halving:
    """Members that do worst end early.

    Attributes:
        eta: one of so many goes on.
        first: epochs before the first decision; each further one comes after eta times as many.
    """

    eta: int = 2
    first: int = 1

    def __post_init__(self) -> None:
        if not (self.eta >= 2 and self.first >= 1):
            raise InputError("Halving.eta must be at least 2 and Halving.first at least 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """What survives a reboot.

    Attributes:
        folder: where the state of every member is kept.
        every: seconds between two of a member; it keeps one at the end of each epoch too.
    """

    folder: str
    every: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """What a run writes while it goes on.

    Attributes:
        csv: a table with a row for each member and time; None for none.
        tensorboard: a folder of curves; None for none.
        prometheus: a file that the node exporter's text collector reads; None for none.
        every: seconds between two looks.
    """

    csv: str | None = None
    tensorboard: str | None = None
    prometheus: str | None = None
    every: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleStudy:
    """What `ensemble estimate` and `ensemble run` are asked.

    Attributes:
        name: of the ensemble.
        data: returns a Dataset, a DataLoader or batches.
        recipes: how the members are trained.
        shared: turns what the data set returns into what all members share; None to leave it.
        workers: processes that read and decode; None for as many as the members can use.
        memory: bytes of the samples that are ready and not yet read by all.
        cores: that the whole ensemble may use; None for those of the machine.
        input: whether members share one stream.
        shuffle: whether every epoch has an order of its own.
        seed: of orders, transforms and weights.
        on_error: what becomes of a sample that cannot be read.
        halving: members that do worst end early; None for none.
        checkpoints: what survives a reboot; None for nothing.
        logs: what is written meanwhile.
        given: what is known of samples and members; None to measure it.
        folder: of the study's file, where paths and modules are looked for.
        assumed: in words, every default that a reader filled in.
    """

    name: str
    data: Code
    recipes: tuple[Recipe, ...]
    shared: Code | None = None
    workers: int | None = None
    memory: float = 2.0**27
    cores: int | None = None
    input: Input = Input.AUTO
    shuffle: bool = True
    seed: int = 0
    on_error: OnError = OnError.RAISE
    halving: Halving | None = None
    checkpoints: Checkpoints | None = None
    logs: Logs = Logs()
    given: Probed | None = None
    folder: str = "."
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not STREAM_NAME.fullmatch(self.name):
            raise InputError(
                f"EnsembleStudy.name '{self.name}' names a stream too: at most 50 letters, digits"
                " and . _ - only."
            )
        names = [each.name for each in self.recipes]
        if not names:
            raise InputError("EnsembleStudy.recipes is empty; an ensemble has members.")
        if len({*names}) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InputError(f"EnsembleStudy: two members are called {', '.join(twice)}.")
        if not self.memory > 0:
            raise InputError(f"EnsembleStudy.memory must be above 0 bytes, got {self.memory}.")

    @property
    def epochs(self) -> int:
        """Of the member that has most."""
        return max(recipe.epochs for recipe in self.recipes)

    @property
    def code(self) -> tuple[Code, ...]:
        """Every function that the study names and a run calls, each once."""
        named = [self.data, self.shared]
        for recipe in self.recipes:
            named += [recipe.model, recipe.private]
            named += [
                each for each in (recipe.loss, recipe.optimizer.name) if isinstance(each, Code)
            ]
        return tuple(dict.fromkeys(each for each in named if each is not None))
