"""Which way of feeding the members of an ensemble was chosen, and why the others lose.

What `ensemble run` answers: what every member did, and what it cost; and what it does now.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from foretrain.measured.ensemble_study import Bottleneck, Input
from foretrain.show.table import label, labelled
from foretrain.show.words import per_second, percent, signed_percent, whole
from foretrain.units import SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class InputWay:
    """One way of feeding all members.

    Attributes:
        name: of a pipeline across nodes, or of a way of loading on one.
        rate: samples per second that every member trains.
        cpu: core-seconds to prepare and hand on a sample of the stream, for all members together.
        cores: of the cores of a node, those that are at work on it, on average.
        limit: what keeps the rate from being higher: "training", "cores", "preparation" or
            "exchange".
        why: it was not chosen; empty for the one that was.
    """

    name: str = field(metadata=label("input"))
    rate: float = field(metadata=label("samples/s", per_second, meaning="of a member"))
    cpu: float = field(metadata=label("CPU time", SECONDS, meaning="per sample, all members"))
    cores: float = field(
        metadata=label(
            "cores", "{:,.0f}".format, meaning="of a node, at work on input on average", spare=1
        )
    )
    limit: str
    why: str

    @property
    @labelled("why not")
    def fate(self) -> str:
        """Why it was not chosen, or that it was."""
        return self.why or "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedInput:
    """How the members of an ensemble are fed on some devices.

    Attributes:
        members: of the ensemble.
        beside: members on one node.
        nodes: that hand samples to each other.
        parts: nodes of one member that are fed, each with its own part of every batch.
        cores: of a node, beside those that its devices keep busy.
        demand: samples per second that a member's plan trains if its next batch is always there.
        best: the way that was chosen.
        private: what is had without sharing: every member prepares all of its samples.
        others: those that were not chosen, simple ones first; `private` is one of them unless it
            is the best.
        pays: whether sharing does.
        verdict: that in a sentence.
    """

    members: int
    beside: int
    nodes: int
    parts: int
    cores: int
    demand: float
    best: InputWay
    private: InputWay
    others: tuple[InputWay, ...]
    pays: bool
    verdict: str

    @property
    def saved(self) -> float:
        """Share of the CPU time per sample that the best way saves."""
        return 1.0 - self.best.cpu / self.private.cpu


class MemberState(StrEnum):
    """What became of a member."""

    WAITING = "waiting"
    """It has not begun, or its next part has not."""

    TRAINING = "training"
    DONE = "done"
    ENDED = "ended early"
    """Others did better, and went on with its share."""

    STOPPED = "stopped"
    """The run was interrupted; it can be resumed."""

    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberNow:
    """One member while it trains.

    Attributes:
        name: of the member.
        state: what it does.
        epoch: which it is in, from 0.
        samples: that it trained on, in this run.
        rate: samples per second since the last look.
        lag: samples that it is behind the one that is furthest.
        wait: share of the time since the last look without a batch.
        loss: mean since the last look; None before the first step.
        cpu: seconds of processor time, in this run.
    """

    name: str = field(metadata=label("member"))
    state: MemberState = field(default=MemberState.WAITING, metadata=label("state"))
    epoch: int = field(default=0, metadata=label("epoch", whole))
    samples: int = field(default=0, metadata=label("samples", whole))
    rate: float = field(default=0.0, metadata=label("samples/s", "{:,.0f}".format))
    lag: int = field(default=0, metadata=label("lag", whole))
    wait: float = field(default=0.0, metadata=label("waits", percent))
    loss: float | None = field(default=None, metadata=label("loss", "{:.4g}".format))
    cpu: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A look at a run.

    Attributes:
        seconds: since it began.
        members: in the order of the study.
        fill: slots that hold samples which not all have read, over all; None for private input.
        bottleneck: the stage that sets the pace; None for private input, and before there is one.
    """

    seconds: float
    members: tuple[MemberNow, ...]
    fill: float | None
    bottleneck: Bottleneck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResult:
    """One member after a run.

    Attributes:
        name: of the member.
        state: what became of it.
        epochs: that it has finished, earlier runs included.
        samples: that it trained on, in this run.
        seconds: from its first batch to its last, in this run.
        rate: samples per second of these.
        wait: share of these without a batch.
        loss: mean over its last epoch, or over what it did of the first; None before any step.
        cpu: seconds of processor time, in this run.
        dropped: samples that it did not get because it was too slow and asked for that.
        skipped: samples that no one got because they could not be read.
        reason: why it failed; empty where it did not.
    """

    name: str = field(metadata=label("member"))
    state: MemberState = field(metadata=label("state"))
    epochs: int = field(metadata=label("epochs", whole))
    samples: int = field(metadata=label("samples", whole, spare=2))
    seconds: float
    rate: float = field(metadata=label("samples/s", "{:,.0f}".format))
    wait: float = field(
        metadata=label("waits", percent, meaning="share of its time without a batch")
    )
    loss: float | None = field(
        metadata=label("loss", "{:.4g}".format, meaning="mean of its last epoch")
    )
    cpu: float = field(
        metadata=label("own time", SECONDS, meaning="processor time of its process", spare=1)
    )
    dropped: int = 0
    skipped: int = 0
    reason: str = ""

    @property
    @labelled("lost", whole, meaning="samples dropped or not readable")
    def lost(self) -> int | None:
        """None where it got every sample."""
        return self.dropped + self.skipped or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A prediction against reality.

    Attributes:
        quantity: what.
        unit: of both.
        predicted: before the run.
        measured: in the run.
        error: predicted over measured, less 1; None where nothing was measured.
    """

    quantity: str = field(metadata=label("what"))
    unit: str
    predicted: float
    measured: float
    error: float | None = field(metadata=label("difference", signed_percent))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleRan:
    """A run of an ensemble.

    Attributes:
        name: of the ensemble.
        input: how members got their samples.
        why: it was chosen.
        code: functions of the study that ran.
        members: in the order of the study.
        seconds: of the run.
        cpu: seconds of processor time of everything, members and stream.
        memory: most bytes that all processes held at once, shared ones counted once; None if the
            run was over before any was seen.
        fill: mean share of full slots; None for private input.
        bottleneck: the stage that set the pace; None for private input.
        compared: predictions against reality.
        resumed: whether it went on with an earlier run.
        complete: whether nothing is left to resume.
        folder: where checkpoints are; empty without.
        warnings: logs that could not be written to the end.
    """

    name: str
    input: Input
    why: str
    code: tuple[str, ...]
    members: tuple[MemberResult, ...]
    seconds: float
    cpu: float
    memory: float | None
    fill: float | None
    bottleneck: Bottleneck | None
    compared: tuple[Compared, ...]
    resumed: bool
    complete: bool
    folder: str
    warnings: tuple[str, ...]
