"""Spelling: how a study writes what a plan says, so that one can paste it there."""

from __future__ import annotations

from enum import Enum

from foretrain.plan.plan import SAID, Plan, Schedule


def spelled(value: object) -> str:
    """The value of a key of [plan] in TOML: 8, true, "full", ["tensor", "data", ...]."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, Schedule):
        return f'"{value.word}"'
    if isinstance(value, Enum):
        return f'"{value.name.lower()}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


def setting_of(name: str, value: object) -> str:
    """A line of [plan]: plan.recompute = "full"."""
    return f"plan.{name} = {spelled(value)}"


def changed(before: Plan, after: Plan) -> tuple[str, ...]:
    """The lines of [plan] in which two plans differ, as the second one has them."""
    return tuple(
        setting_of(name, getattr(after, name))
        for name in SAID
        if getattr(before, name) != getattr(after, name)
    )
