"""The keys of a configuration, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from foretrain.errors import InputError
from foretrain.units import as_written
from foretrain.workload.parts.stream import MOST_LAYERS

MOST_OF_ANYTHING: Final = 10**9
LAYERS: Final = (
    "num_hidden_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers",
    "n_layer", "n_layers",
)  # fmt: skip
MOST: Final[Mapping[str, int]] = dict.fromkeys(LAYERS, MOST_LAYERS)
"""The most that is read, by key, where it is less than of anything."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration of a model; `null` means the same as an absent key.

    Attributes:
        keys: names and values.
        family: its model_type, for messages.
    """

    keys: Mapping[str, object]
    family: str

    def has(self, name: str) -> bool:
        """Whether a key says anything."""
        return self.keys.get(name) is not None

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1.

        Args:
            name: of the key.
            default: where it is absent; None where it is needed.

        Raises:
            InputError: if it is missing, or anything else.
        """
        value = self.count_or_none(name)
        found = default if value is None else value
        if found is None:
            raise InputError(f"{name} is missing; a model of type {self.family} needs it.")
        return found

    def count_or_none(self, name: str) -> int | None:
        """A whole number of at least 1, or None without the key.

        Raises:
            InputError: if it is anything else.
        """
        value = self.keys.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {as_written(value)}, not a whole number of at least 1.")
        if value > MOST.get(name, MOST_OF_ANYTHING):
            most = MOST.get(name, MOST_OF_ANYTHING)
            raise InputError(f"{name} is {as_written(value)}; at most {most:,} are read.")
        return value

    def number(self, name: str, default: float) -> float:
        """A number of at least 0.

        Raises:
            InputError: if it is anything else.
        """
        value = self.keys.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is {as_written(value)}, not a number of at least 0.")
        if not 0 <= value <= MOST_OF_ANYTHING:
            raise InputError(
                f"{name} is {as_written(value)}, not a number from 0 to {MOST_OF_ANYTHING:,}."
            )
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false.

        Raises:
            InputError: if it is neither.
        """
        value = self.keys.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{name} is {as_written(value)}, neither true nor false.")
        return value

    def listed(self, name: str) -> Sequence[object]:
        """A list, empty without the key.

        Raises:
            InputError: if it is no list.
        """
        value = self.keys.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise InputError(f"{name} is {as_written(value)}, not a list.")
        return value

    def inside(self, name: str) -> Config:
        """The configuration under a key, empty without it.

        Raises:
            InputError: if it is no table.
        """
        value = self.keys.get(name, {})
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {as_written(value)}, not a table of keys and values.")
        return Config(value, self.family)

    def refuse(self, name: str, *, unless: object) -> None:
        """Refuse a key that says anything but `unless`, or nothing.

        Raises:
            InputError: names the value and the one that is understood.
        """
        value = self.keys.get(name)
        if value is not None and value != unless:
            raise InputError(
                f"{name} is {as_written(value)}; foretrain reads {self.family} with "
                f"{as_written(unless)} only."
            )

    def drops(self, *names: str, default: float) -> bool:
        """Whether any of these keys is a share of dropped values."""
        return any(self.number(name, default) > 0 for name in names)

    def head_width(self, key: str, heads: int) -> int:
        """The stream's width, under a key, over the heads.

        Raises:
            InputError: if they do not divide it.
        """
        hidden = self.count(key)
        if hidden % heads:
            raise InputError(f"{key} is {hidden}, which its {heads} attention heads do not divide.")
        return hidden // heads
