"""Logs: the steady time of a step in all that a trainer printed of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median, quantiles
from typing import Final

from foretrain.errors import InputError
from foretrain.launch.writing import FIELDS, LoggedTime, Per, figure_of

WARM_UP: Final = 20
"""Steps in which kernels are chosen, memory is laid out and loaders fill up."""

FEWEST: Final = 5
"""Figures that a steady time is made of."""

WIDEST: Final = 0.10
"""Share of the median that the middle half of the figures may span."""

DRIFT: Final = 0.05
"""Share of the median by which the later half of the figures may differ from the earlier."""

STEP: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # Megatron-LM; LiBai.
        r"\biteration:?\s+(\d+)\s*/",
        # DeepSpeed, NeMo, Megatron Bridge, LitGPT, torchtitan, torchtune, MaxText.
        r"\bglobal_step\s*[=:]\s*(\d+)",
        r"\bcompleted step:\s*(\d+)",
        r"\bsteps?:\s*(\d+)",
        r"\biter (\d+) step",
        r"\bStep (\d+) \|",
        r"\[batch=(\d+)/",
        # Bars of progress.
        r"\|\s*(\d+)/(?:\d+|\?) \[",
    )
)
"""How a line says of which step it is; the first that does."""

EPOCH_BAR: Final = re.compile(r"\bEpoch \d+:.*\|")
STEP_BAR: Final = re.compile(r"^(?:\[\w+\]:)?\s*\d{1,3}%\|")
BAR: Final = re.compile(r"\|\s*\d+/(\d+|\?) \[")
"""Bars of Lightning, which count micro-batches, and of the Trainer of transformers: steps."""

COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedLine:
    """What a line of a log says of a step.

    Attributes:
        line: its number, from 1.
        step: which; None where it does not say.
        told: the figure.
    """

    line: int
    step: int | None
    told: LoggedTime

    @property
    def pace(self) -> float:
        """What grows with the time of a step: seconds, or the inverse of a rate."""
        return self.told.value if self.told.per in TIMES else 1.0 / self.told.value


TIMES: Final = (Per.STEP, Per.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyTime:
    """The steady time of a step in a log.

    Attributes:
        told: the median, as the log tells it.
        figures: of which it is the median.
        first: line of the first of them.
        last: line of the last.
        spread: what the middle half of them spans, as a share of the median.
    """

    told: LoggedTime
    figures: int
    first: int
    last: int
    spread: float

    def __str__(self) -> str:
        """How it was found."""
        return (
            f"the median of {self.figures} figures of lines {self.first} to {self.last}, whose "
            f"middle half spans {_percent(self.spread)} of it"
        )


def steady(text: str) -> SteadyTime:
    """The steady time of a step in a log.

    The first steps are left out. Of the rest the median counts, so that a checkpoint between two
    steps does not.

    Args:
        text: all that was printed.

    Raises:
        InputError: it tells no time of steps, little but that of its first steps, or times that are
            too unlike, or that still change.
    """
    timed = timed_lines(text)
    if not timed:
        raise InputError(
            "no line says how long a step took, as trainers that are known here print it. Give the "
            'time of a step: --step-time "2.15 s".'
        )
    kept = _after_warm_up(timed)
    if len(kept) < FEWEST:
        raise InputError(
            f"{len(timed)} figures of lines {timed[0].line} to {timed[-1].line}, of which "
            f"{len(kept)} lie wholly behind the first {WARM_UP} steps, which warm up; {FEWEST} are "
            'needed. Let it run longer, or give the time of a step: --step-time "2.15 s".'
        )
    paces = [each.pace for each in kept]
    middle = median(paces)
    low, _, high = quantiles(paces, n=4, method="inclusive")
    told = f"{len(kept)} figures of lines {kept[0].line} to {kept[-1].line}"
    if high - low > WIDEST * middle:
        raise InputError(
            f"{told} are too unlike: the middle half is {_said(kept[0], low)} to "
            f"{_said(kept[0], high)}, {_percent((high - low) / middle)} of the median "
            f"{_said(kept[0], middle)}; at most {_percent(WIDEST)} is taken. Find what disturbs "
            'the run, or give the time of a step: --step-time "2.15 s".'
        )
    _check_drift(kept, middle, told)
    per, chosen = kept[0].told.per, kept[0].told
    value = middle if per in TIMES else 1.0 / middle
    return SteadyTime(
        told=LoggedTime(per=per, value=value, counted=chosen.counted),
        figures=len(kept),
        first=kept[0].line,
        last=kept[-1].line,
        spread=(high - low) / middle,
    )


def _check_drift(kept: Sequence[TimedLine], middle: float, told: str) -> None:
    """Refuse figures whose later half is unlike the earlier: batches that grow, clocks that fall.

    Raises:
        InputError: they still change.
    """
    half = len(kept) // 2
    before, after = (median(each.pace for each in part) for part in (kept[:half], kept[-half:]))
    if abs(after - before) > DRIFT * middle:
        raise InputError(
            f"{told} still change: the median is {_said(kept[0], before)} up to line "
            f"{kept[half - 1].line} and {_said(kept[0], after)} from line {kept[-half].line} on, "
            f"{_percent(abs(after - before) / middle)} apart; at most {_percent(DRIFT)} is taken. "
            'Cut the log to its steady part, or give the time of a step: --step-time "2.15 s".'
        )


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"


def _said(like: TimedLine, pace: float) -> str:
    """A figure in the words of its log."""
    if like.told.per in TIMES:
        return f"{pace:.4g} s"
    return f"{1.0 / pace:.4g} {like.told.per.value}"


def timed_lines(text: str) -> list[TimedLine]:
    """The figures of the field that most lines of a log have, one of each step, in order.

    Raises:
        InputError: one is not above 0.
    """
    found: dict[Kind, list[TimedLine]] = {}
    for number, line in _lines(text):
        read = _figure(number, line)
        if read is not None:
            found.setdefault(read[0], []).append(read[1])
    if not found:
        return []
    # The surest of fields that stand in equally many lines.
    chosen = found[max(found, key=lambda kind: (len(found[kind]), -kind[0]))]
    # A bar is drawn several times in one step, and every process may print the same.
    runs = ((step, [*run]) for step, run in groupby(chosen, key=lambda each: each.step))
    return [each for step, run in runs for each in (run if step is None else run[-1:])]


Kind = tuple[int, str]
"""The place of a field among all, and the length of the bar in which it stands."""


def _figure(number: int, line: str) -> tuple[Kind, TimedLine] | None:
    """The surest figure of a line, and of which kind it is; None where it has none."""
    for place, (per, field) in enumerate(FIELDS):
        matches = [*field.finditer(line)]
        if not matches:
            continue
        try:
            told = figure_of(per, matches[-1])
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
        # Bars of an evaluation, or of what is loaded, have other lengths.
        length = BAR.search(line) if told.counted else None
        kind = (len(FIELDS), length[1] if length else "") if told.counted else (place, "")
        return kind, TimedLine(line=number, step=_step(line), told=_of_bar(told, line))
    return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a bar draws several into one."""
    for number, line in enumerate(text.split("\n"), start=1):
        for drawn in line.split("\r"):
            yield number, COLOUR.sub("", drawn[:LONGEST])


LONGEST: Final = 2_000
"""Letters of a line that are read: trainers' lines are shorter, what they dump is not."""


def _step(line: str) -> int | None:
    """The step that a line says."""
    matches = (pattern.search(line) for pattern in STEP)
    return next((int(match[1]) for match in matches if match), None)


def _of_bar(told: LoggedTime, line: str) -> LoggedTime:
    """A figure of a bar, whose trainer the bar tells."""
    if told.counted and EPOCH_BAR.search(line):
        return LoggedTime(per=Per.PASS, value=told.value)
    if told.counted and STEP_BAR.search(line):
        return LoggedTime(per=Per.STEP, value=told.value)
    return told


def _after_warm_up(timed: Sequence[TimedLine]) -> list[TimedLine]:
    """The figures of steps behind those in which a run warms up.

    A figure tells of all steps since the one before it.
    """
    steps = [each.step for each in timed]
    if any(each is None for each in steps):
        return [*timed[WARM_UP:]]
    known = [each for each in steps if each is not None]
    apart = [after - before for before, after in pairwise(known) if after > before]
    every = int(median(apart)) if apart else 1
    start = known[0] - every
    return [
        each for each, step in zip(timed, known, strict=True) if step - every - start >= WARM_UP
    ]
