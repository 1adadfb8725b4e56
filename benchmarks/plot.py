"""A plot of seconds against devices, both logarithmic, as an SVG that stands for itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from foretrain.show.charts import PlotAxis, axis_of
from foretrain.units import SECONDS

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 70.0, 560.0, 20.0, 325.0

STYLE = """<style>
  svg { background: #ffffff; font: 12px system-ui, "DejaVu Sans", sans-serif }
  text { fill: #1b1f24 } .grid { stroke: #d5dae0 } circle { fill: #0b5cad }
  .curve { stroke: #0b5cad; stroke-width: 2; fill: none }
  .beside { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none }
</style>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Seconds for each number of devices; `beside` is dashed, to compare others with."""

    name: str
    seconds: Sequence[float]
    beside: bool = False


def plot(title: str, devices: Sequence[int], curves: Sequence[Curve]) -> str:
    """The document."""
    x = PlotAxis(low=devices[0], high=devices[-1], quantity=SECONDS)
    y = axis_of([value for curve in curves for value in curve.seconds], SECONDS)
    across = [LEFT + x.place(count) / 100 * (RIGHT - LEFT) for count in devices]
    parts = [*_seconds(y), *_devices(devices, across)]
    for curve in curves:
        heights = [_height(y.place(value)) for value in curve.seconds]
        parts += _drawn(curve, list(zip(across, heights, strict=True)))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, *parts, "</svg>", ""])


def _height(place: float) -> float:
    """Where a place of the vertical axis stands."""
    return BOTTOM - place / 100 * (BOTTOM - TOP)


def _seconds(axis: PlotAxis) -> Iterator[str]:
    """Lines and texts of the vertical axis."""
    for place, text in axis.ticks:
        height = _height(place)
        yield f'<path class="grid" d="M{LEFT} {height:.1f}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{text}</text>'


def _devices(devices: Sequence[int], across: Sequence[float]) -> Iterator[str]:
    """Texts of the horizontal axis: the last number, every other one before it, the first."""
    for place in {*range(len(devices) - 1, -1, -2), 0}:
        text = f"{devices[place]:,}"
        yield f'<text x="{across[place]:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{text}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle}" y="{BOTTOM + 42}" text-anchor="middle">devices</text>'


def _drawn(curve: Curve, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A curve and its name at its end."""
    path = "L".join(f"{left:.1f} {height:.1f}" for left, height in places)
    yield f'<path class="{"beside" if curve.beside else "curve"}" d="M{path}"/>'
    if not curve.beside:
        yield from (f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3"/>' for left, top in places)
    left, height = places[-1]
    yield f'<text x="{left + 9:.1f}" y="{height + 4:.1f}">{escape(curve.name)}</text>'
