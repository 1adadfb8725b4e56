"""What `compare` answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from foretrain.launch.kineto import OperatorClass, ProfiledStep
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.show.document import Shown
from foretrain.show.table import label, labelled
from foretrain.show.words import signed, signed_percent
from foretrain.step.result import Estimate
from foretrain.units import BYTES, DOLLARS, SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """A step that somebody measured, as one of two that are compared.

    Attributes:
        study: the question about it, of one plan.
        step_time: seconds that were measured.
        of: the log, the row or the trace that says so.
        expected: seconds that are predicted of it with all that its row says, where that is more
            than a study can; None where the study says all.
        profile: what a profiler saw; None without one.
    """

    study: Study
    step_time: float
    of: str
    expected: float | None = None
    profile: ProfiledStep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassTimes:
    """A class of operators in a predicted step and in a measured one.

    Attributes:
        kind: the class.
        predicted: seconds of a step.
        measured: the same, as a profiler saw them.
    """

    kind: OperatorClass = field(metadata=label("class"))
    predicted: float = field(metadata=label("predicted", SECONDS, group="amount"))
    measured: float = field(metadata=label("measured", SECONDS, group="amount"))

    @property
    @labelled("error", number=True, meaning="of what is predicted")
    def error(self) -> str:
        """Predicted over measured, less one."""
        if not self.measured or not self.predicted:
            return ""
        return signed_percent(self.predicted / self.measured - 1.0)

    @property
    @labelled("difference", number=True)
    def more(self) -> str:
        """Seconds that were measured and not predicted."""
        return signed(SECONDS, self.measured - self.predicted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """One step of the way from the first question to the second.

    Attributes:
        what: keys of a study that change together.
        before: what they were.
        after: what they become.
        time: seconds of a step that this adds; below 0 where it saves.
        cost: dollars of a step that it adds; None where either has no price.
        memory: bytes of the heaviest device that it adds.
    """

    what: str = field(metadata=label("what differs"))
    before: str = field(metadata=label("first"))
    after: str = field(metadata=label("second"))
    time: float
    cost: float | None
    memory: float

    @property
    @labelled("step", number=True, meaning="what it adds to a step")
    def step_change(self) -> str:
        """Seconds that it adds."""
        return signed(SECONDS, self.time) if self.time else "0 s"

    @property
    @labelled("cost", number=True, spare=1, meaning="of a step")
    def step_cost(self) -> str | None:
        """Dollars that it adds."""
        return signed(DOLLARS, self.cost) if self.cost else None

    @property
    @labelled("memory", number=True, spare=2, meaning="on the heaviest device")
    def device_memory(self) -> str:
        """Bytes that it adds."""
        return signed(BYTES, self.memory) if self.memory else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """A part of the step in both.

    Attributes:
        part: its name.
        first: seconds.
        second: seconds.
    """

    part: str = field(metadata=label("part"))
    first: float = field(metadata=label("first", SECONDS, group="amount"))
    second: float = field(metadata=label("second", SECONDS, group="amount"))

    @property
    @labelled("difference", number=True)
    def more(self) -> str:
        """What the second takes more."""
        return signed(SECONDS, self.second - self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOfTwo:
    """One of the two that are compared.

    Attributes:
        plan: that runs.
        cluster: name of the cluster.
        nodes: how many of its nodes.
        proposed: whether the study leaves the plan open, and a search proposes this one.
        estimate: what it takes.
        measured: seconds of a step that were measured; None where nobody did.
        of: who says so; empty where nobody does.
    """

    plan: Plan
    cluster: str
    nodes: int
    proposed: bool
    estimate: Estimate
    measured: float | None = None
    of: str = ""

    @property
    def step_time(self) -> float:
        """Seconds of a step, as measured or else as predicted."""
        return self.estimate.step_time if self.measured is None else self.measured

    @property
    def cost(self) -> float | None:
        """Dollars of such a step; None without a price."""
        each = self.estimate.cost_per_step
        return None if each is None else each * (self.step_time / self.estimate.step_time)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Shown):
    """What differs between two questions, and what each difference costs.

    Attributes:
        first: the one.
        second: the other.
        time: seconds of a step that the second takes more; below 0 where it takes less.
        time_low: lower end of the interval of that.
        time_high: upper end.
        ratio: the second's step over the first's.
        ratio_low: lower end of the interval of that.
        ratio_high: upper end.
        shared: in words, which errors of the two predictions cancel.
        cost: dollars of a step that the second takes more; None where either has no price.
        memory: bytes of the heaviest device that it needs more.
        departures: differences one after another, from the first to the second: what each adds
            where those before it are made already; they add up to `time`, `cost` and `memory`.
        parts: parts of the predicted step in both, the largest difference first.
        operators: of a profiled step, classes of operators as predicted and as measured; each adds
            up to its step.
    """

    rows: ClassVar[str] = "departures"
    columns: ClassVar[tuple[str, ...]] = (
        "what",
        "before",
        "after",
        "step_change",
        "step_cost",
        "device_memory",
    )

    first: SideOfTwo
    second: SideOfTwo
    time: float
    time_low: float
    time_high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    shared: str
    cost: float | None
    memory: float
    departures: tuple[Departure, ...]
    parts: tuple[PartChange, ...]
    operators: tuple[ClassTimes, ...] = ()
