"""The picture of a step: what every stage does when, on compute and on its links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from foretrain.show.charts import PlotAxis, Ticks
from foretrain.show.words import written
from foretrain.step.simulated_step import DeviceStream, Interval, timeline
from foretrain.step.timeline import StepTimes
from foretrain.units import SECONDS

MOST: Final = 4_000
"""Rectangles of which each is drawn by itself."""

BINS: Final = 600
"""Stretches of equal time that are drawn where there are more, each as what it is most."""

SHOWN: Final = 16
"""Stages that are drawn; of more of them, as many spread evenly from the first to the last."""

ORDER: Final = (DeviceStream.COMPUTE, DeviceStream.SEND, DeviceStream.DATA)
COLOURS: Final = {"weights": "backward", "send": "pipeline", "gather": "parameters"}
"""Names of the style sheet, where they are not the first word of what is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStripe:
    """A stretch of time, in per cent of the drawing, by the name of its colour."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPicture:
    """A step, stage below stage.

    Attributes:
        x: ticks of time.
        stages: where each stage's name stands, and the name.
        stripes: what its streams do.
        kinds: names of the colours that are there, with what they mean.
    """

    x: Ticks
    stages: tuple[tuple[float, str], ...]
    stripes: tuple[StepStripe, ...]
    kinds: tuple[str, ...]


def step_picture(times: StepTimes) -> StepPicture:
    """The picture of a simulated step."""
    found, count = timeline(times), len(times.stages)
    end = max(each.end for each in found)
    shown = _spread(count)
    rows: dict[tuple[int, DeviceStream], list[Interval]] = defaultdict(list)
    for each in found:
        if each.stage in shown:
            rows[each.stage, each.stream].append(each)
    whole = sum(map(len, rows.values())) <= MOST
    height = 100 / len(shown)
    # Compute takes half of a stage's room, each link a fifth.
    tops = {DeviceStream.COMPUTE: (0.05, 0.5), DeviceStream.SEND: (0.57, 0.16)}
    tops[DeviceStream.DATA] = (0.75, 0.16)
    stripes = []
    for (stage, stream), own in rows.items():
        first, share = tops[stream]
        top = (shown.index(stage) + first) * height
        for start, until, colour in _exactly(own) if whole else _coarsely(own, end):
            stripes.append(
                StepStripe(
                    x=100 * start / end,
                    y=top,
                    width=100 * (until - start) / end,
                    height=share * height,
                    colour=colour,
                    text=f"stage {stage}: {colour}, {written(SECONDS, until - start)}",
                )
            )
    clock = PlotAxis(low=0.0, high=end, quantity=SECONDS)
    return StepPicture(
        x=Ticks(ticks=clock.linear, logarithmic=False),
        stages=tuple(((place + 0.5) * height, f"{stage}") for place, stage in enumerate(shown)),
        stripes=tuple(stripes),
        kinds=tuple(dict.fromkeys(each.colour for each in stripes)),
    )


def _spread(count: int) -> list[int]:
    """The stages that are drawn."""
    if count <= SHOWN:
        return list(range(count))
    return [round(place * (count - 1) / (SHOWN - 1)) for place in range(SHOWN)]


def _colour(interval: Interval) -> str:
    word = interval.name.split()[0]
    return COLOURS.get(word, word)


Stretch = tuple[float, float, str]
"""Start, end and colour."""


def _exactly(own: Iterable[Interval]) -> list[Stretch]:
    return [(each.start, each.end, _colour(each)) for each in own]


def _coarsely(own: Sequence[Interval], end: float) -> list[Stretch]:
    """Equal stretches of time by what most of each is; neighbours of one colour are one."""
    found: list[dict[str, float]] = [{} for _ in range(BINS)]
    size = end / BINS
    for each in own:
        first, last = int(each.start / size), min(BINS - 1, int(each.end / size))
        for place in range(first, last + 1):
            inside = min(each.end, (place + 1) * size) - max(each.start, place * size)
            colour = _colour(each)
            found[place][colour] = found[place].get(colour, 0.0) + inside
    merged: list[Stretch] = []
    for place, colours in enumerate(found):
        busy = sum(colours.values())
        if busy < size / 2:
            continue
        colour = max(colours, key=lambda name: colours[name])
        start = place * size
        if merged and merged[-1][2] == colour and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], start + size, colour)
        else:
            merged.append((start, start + size, colour))
    return merged
