"""What `ensemble estimate` answers: whether to share the input, and what the run will take."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.measured.ensemble_study import Input
from foretrain.measured.probed import HandingCosts, SampleCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """One way in which members can get their samples.

    Attributes:
        name: in words.
        shared: whether all read one stream.
        workers: processes that prepare, of the stream or of each member.
        cpu: core-seconds per sample, all members together.
        rate: samples per second of each member.
        limit: what keeps it from more: training, preparation or cores.
        memory: bytes of all processes at once.
        chosen: whether the run takes it.
    """

    name: str
    shared: bool
    workers: int
    cpu: float
    rate: float
    limit: str
    memory: float
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberForecast:
    """One member before the run.

    Attributes:
        name: of the member.
        model: the function that builds it.
        batch: samples per step.
        epochs: how often it sees every sample, if it is not ended early.
        alone: samples per second with samples always at hand.
        rate: samples per second among the others.
        cpu: core-seconds per sample, of its own.
        memory: bytes that its process holds by itself.
        wave: in which it trains, from 1.
    """

    name: str
    model: str
    batch: int
    epochs: int
    alone: float
    rate: float
    cpu: float
    memory: float
    wave: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleEstimated:
    """An ensemble before it runs.

    Attributes:
        name: of the ensemble.
        input: how members will get their samples.
        why: in a sentence.
        code: functions of the study that a run calls.
        members: in the order of the study.
        loadings: what was compared, the quickest first.
        sample: what a sample costs.
        handing: what handing it on costs.
        shareable: k, what a sample costs to prepare over what a member spends on it.
        cores: that everything shares.
        waves: how many groups train one after the other.
        comparisons: epochs after which the worst members end.
        seconds: of the run; None where nobody knows how many samples an epoch has.
        cpu: core-seconds of the run, likewise.
        memory: bytes of all processes at once.
        saved: core-seconds without sharing over those with it.
        measured: whether this machine measured it; otherwise the study says it.
        warnings: what to know besides.
    """

    name: str
    input: Input
    why: str
    code: tuple[str, ...]
    members: tuple[MemberForecast, ...]
    loadings: tuple[Loading, ...]
    sample: SampleCosts
    handing: HandingCosts
    shareable: float
    cores: int
    waves: int
    comparisons: tuple[int, ...]
    seconds: float | None
    cpu: float | None
    memory: float
    saved: float
    measured: bool
    warnings: tuple[str, ...]
