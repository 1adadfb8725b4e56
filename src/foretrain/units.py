"""Units: every number that a person writes says what it measures.

`BYTES_PER_SECOND.read("400 Gb/s")` is 5e10; `BYTES.write(5.2e10)` is "48.4 GiB". `b` is a bit and
`B` a byte; k M G T P E are decimal and Ki Mi Gi Ti Pi binary; a rate ends in `/s` (`Gbps` and
`TFLOPS` are understood too). Nothing is guessed: a bare number, a unit of another kind and a unit
in the wrong case are refused.

`Annotated[float, BYTES]` makes a document's reader (pydantic) use the same rules for that field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf, isfinite
from typing import Final

from foretrain.errors import InputError, nearest, shortened

Factors = Mapping[str, float]

DECIMAL: Final[Factors] = {
    "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18
}  # fmt: skip
BINARY: Final[Factors] = {
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50
}  # fmt: skip
NUMBER: Final = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

MOST: Final = 1e30
"""The largest number of anything: a product of several such still fits in a float. The least above
0 is its inverse."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantity:
    """What a number measures, and how people write it.

    Attributes:
        name: with its article, for messages ("a bandwidth").
        units: legal units, each with its size in the unit used inside: a whole number or the
            inverse of one, so that reading rounds once.
        shown: the units in which values are printed, smallest first.
        example: how to write one.
        bare: endings that are legal without naming a unit; empty where a unit is needed.
    """

    name: str
    units: Factors
    shown: tuple[str, ...]
    example: str
    bare: Factors = field(default_factory=dict)

    def read(self, value: object) -> float:
        """The value of a text such as "400 Gb/s", in the unit used inside.

        Args:
            value: a text; a number only where no unit is needed.

        Raises:
            InputError: if it is anything but one finite number, at least 0, with a unit of this
                kind.
        """
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(f"{as_written(value)} is not {self.name}. {self._advice}")
        if isinstance(value, str):
            return self._checked(value, *self._number_and_unit(value))
        if not self.bare:
            raise InputError(f"{as_written(value)} has no unit; wanted {self.name}. {self._advice}")
        return self._checked(value, _float(value), 1.0)

    def write(self, value: float, unit: str = "") -> str:
        """The value as people read it: three digits and a unit, its own if none is asked for."""
        unit = unit or self.unit_of(value)
        return f"{_three_digits(value / self.units[unit])} {unit}"

    def unit_of(self, value: float) -> str:
        """The unit in which a value is written: the largest that is not above it."""
        fitting = [unit for unit in self.shown if abs(value) >= self.units[unit]]
        return fitting[-1] if fitting and value else self._smallest(value)

    def _smallest(self, value: float) -> str:
        """The unit of what is smaller than every unit; a zero is one of the plain unit."""
        plain = [unit for unit in self.shown if self.units[unit] == 1.0]
        return plain[0] if plain and not value else self.shown[0]

    def _number_and_unit(self, text: str) -> tuple[float, float]:
        """The number in a text and the size of its unit."""
        written = text.strip()
        match = NUMBER.match(written)
        if match is None:
            raise InputError(f"{as_written(text)} does not begin with a number. {self._advice}")
        unit = (
            " ".join(written[match.end() :].split()).replace("\u00b5", "u").replace("\u03bc", "u")
        )
        known = {**self.bare, **self.units}
        if unit not in known:
            raise InputError(self._refusal(text, unit))
        return float(match[0]), known[unit]

    def _checked(self, value: object, number: float, factor: float) -> float:
        product = _product(number, factor)
        if not isfinite(product):
            raise InputError(f"{as_written(value)} is not finite; wanted {self.name}.")
        if not product >= 0:
            raise InputError(f"{as_written(value)} is negative; {self.name} is at least 0.")
        if number and not 1 / MOST <= product <= MOST:
            raise InputError(
                f"{as_written(value)} is not sensible: {self.name} is 0 or between {1 / MOST:g} and"
                f" {MOST:g}."
            )
        return product

    def _refusal(self, text: str, unit: str) -> str:
        """Why a unit is refused, and what would be right."""
        if not unit:
            return f"{as_written(text)} has no unit; wanted {self.name}. {self._advice}"
        if self.bare and unit.split(maxsplit=1)[0] == "B":
            right = as_written(text.strip().replace("B", "G", 1))
            return f"{as_written(text)}: 'B' means bytes here; billions are G, as in {right}."
        other = next((kind for kind in KINDS if unit in kind.units), None)
        if other is not None:
            return f"{as_written(text)} is {other.name}; wanted {self.name}. {self._advice}"
        return (
            f"{as_written(text)} has the unknown unit {as_written(unit)}; wanted {self.name}."
            f"{self._nearest(unit)} Known: {self._known()}."
        )

    def _known(self) -> str:
        """The legal units, those that differ in a prefix told once."""
        before = {f"{prefix}{gap}": prefix for prefix in PREFIXES if prefix for gap in ("", " ")}
        scaled = {start + unit: start for unit in self.units for start in before}
        used = [prefix for start, prefix in before.items() if start in map(scaled.get, self.units)]
        plain = ", ".join(unit for unit in self.units if unit not in scaled)
        return f"{plain}; with {', '.join(dict.fromkeys(used))} before" if used else plain

    def _nearest(self, unit: str) -> str:
        """A hint: units that differ in case only, or else the nearest one."""
        same = [known for known in self.units if known.lower() == unit.lower()]
        if not same:
            return nearest(unit, self.units)
        choices = " or ".join(f"'{known}'" for known in same)
        bits = " b is a bit, B a byte." if len(same) > 1 else ""
        return f" Did you mean {choices}? Capitals matter.{bits}"

    @property
    def _advice(self) -> str:
        return f"Write for example {self.example}."

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> dict[str, object]:
        """Let pydantic read an annotated field with `read`."""
        return {"type": "function-plain", "function": {"type": "no-info", "function": self.read}}

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, object]:
        """Describe an annotated field of a document."""
        texts: dict[str, object] = {
            "type": "string",
            "description": f"{self.name}, for example {self.example}",
        }
        return {"anyOf": [texts, {"type": "number"}]} if self.bare else texts


def as_written(value: object) -> str:
    """A value as the user wrote it in TOML, its middle left out where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return shortened(repr(value) if isinstance(value, str) else str(value))
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a whole number of thousands of digits"


def _float(value: float) -> float:
    """A float, also of an integer that no float can hold."""
    try:
        return float(value)
    except OverflowError:
        return inf


def _product(number: float, factor: float) -> float:
    """The product as decimal arithmetic has it: 8.2 GFLOP is 8.2e9 and not the float below."""
    exact = Decimal(str(number))
    return float(exact * Decimal(factor) if factor >= 1 else exact / round(1 / factor))


def _three_digits(value: float) -> str:
    """Three digits; whole numbers up to a million stay whole."""
    return f"{value:.0f}" if 99.95 <= abs(value) < 1e6 else f"{value:.3g}"


def _scaled(unit: str, prefixes: Factors, *, size: float = 1.0) -> dict[str, float]:
    """A unit with each of the prefixes."""
    return {prefix + unit: factor * size for prefix, factor in prefixes.items()}


def _counted(thing: str) -> Quantity:
    """How many of something: "15 T tokens", "15 T" and 15e12 are all legal, as is "1 token"."""
    singular = thing.removesuffix("s")
    words = {
        f"{prefix} {word}".strip(): factor
        for word in (thing, singular)
        for prefix, factor in DECIMAL.items()
    }
    return Quantity(
        name=f"a number of {thing}",
        units=words,
        shown=tuple(f"{prefix} {thing}".strip() for prefix in DECIMAL),
        example=f'"1 M {thing}"',
        bare=DECIMAL,
    )


TIMES: Final[Factors] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0
}  # fmt: skip
PREFIXES: Final[Factors] = {**DECIMAL, **BINARY}
SIZES: Final[Factors] = _scaled("B", PREFIXES) | _scaled("b", PREFIXES, size=1 / 8)

BYTES = Quantity(
    name="a size",
    units=SIZES,
    shown=("B", "KiB", "MiB", "GiB", "TiB", "PiB"),
    example='"80 GB" or "80 GiB"',
)
BYTES_PER_SECOND = Quantity(
    name="a bandwidth",
    units={unit + per: size for per in ("/s", "ps") for unit, size in SIZES.items()},
    shown=tuple(_scaled("B/s", DECIMAL)),
    example='"900 GB/s" (bytes) or "400 Gb/s" (bits)',
)
SECONDS = Quantity(name="a time", units=TIMES, shown=tuple(TIMES), example='"9 us" or "30 d"')
FLOP = Quantity(
    name="an amount of FLOP",
    units=_scaled("FLOP", DECIMAL),
    shown=tuple(_scaled("FLOP", DECIMAL)),
    example='"8.2 GFLOP"',
)
FLOP_PER_SECOND = Quantity(
    name="a compute rate",
    units=_scaled("FLOP/s", DECIMAL) | _scaled("FLOPS", DECIMAL),
    shown=tuple(_scaled("FLOP/s", DECIMAL)),
    example='"989 TFLOP/s"',
)
WATTS = Quantity(
    name="a power",
    units={"W": 1.0, "kW": 1e3, "MW": 1e6},
    shown=("W", "kW", "MW"),
    example='"400 W" or "6.5 kW"',
)
JOULES = Quantity(
    name="an energy",
    units={"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9, "GWh": 3.6e12},
    shown=("J", "kJ", "kWh", "MWh", "GWh"),
    example='"3 kWh"',
)
DOLLARS = Quantity(
    name="an amount of money",
    units={"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    shown=("USD", "kUSD", "MUSD"),
    example='"2 MUSD"',
)
DOLLARS_PER_SECOND = Quantity(
    name="a price per time",
    units={"USD/s": 1.0, "USD/h": 1 / 3600, "USD/hour": 1 / 3600, "USD/d": 1 / 86400},
    shown=("USD/h",),
    example='"2.5 USD/h"',
)
TOKENS = _counted("tokens")
SAMPLES = _counted("samples")
PARAMETERS = _counted("parameters")
EPOCHS = _counted("epochs")
STEPS = _counted("steps")
VALUES = _counted("values")
SHARE = Quantity(name="a share", units={"%": 0.01}, shown=("%",), example='"1 %"')

KINDS: Final = (
    BYTES, BYTES_PER_SECOND, SECONDS, FLOP, FLOP_PER_SECOND, WATTS, JOULES, DOLLARS,
    DOLLARS_PER_SECOND, TOKENS, SAMPLES, PARAMETERS, EPOCHS, STEPS, VALUES,
    SHARE,
)  # fmt: skip


def years(date: str) -> float | None:
    """A date, year first, in years: the middle of its month, or of its first year alone.

    None where it does not begin with a year.
    """
    year, month = date[:4], date[5:7]
    if not (len(year) == 4 and year.isascii() and year.isdigit()):
        return None
    in_year = date[4:5] == "-" and date[7:8] in ("", "-") and month.isascii() and month.isdigit()
    return int(year) + ((int(month) - 0.5) / 12.0 if in_year else 0.5)
