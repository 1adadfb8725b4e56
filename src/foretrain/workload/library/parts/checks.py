"""What every shape asks of its sizes."""

from __future__ import annotations

from foretrain.errors import InputError


def at_least(shape: object, least: float, *names: str) -> None:
    """Refuse a shape one of whose fields is below `least`.

    Raises:
        InputError: names the class, the field and its value.
    """
    for name in names:
        value = getattr(shape, name)
        if not value >= least:
            kind = type(shape).__name__
            raise InputError(f"{kind}.{name} must be at least {least:g}, got {value}.")
