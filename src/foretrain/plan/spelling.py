"""Spelling: how a study writes what a plan says, so that one can paste it there."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum

from foretrain.plan.plan import Plan, Schedule


def spelled(value: object) -> str:
    """The value of a key of [plan] in TOML: 8, true, "full", ["tensor", "data", ...]."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if value is Schedule.ONE_F_ONE_B:
        return '"1f1b"'
    if isinstance(value, Enum):
        return f'"{value.name.lower()}"'
    return f'"{value}"' if isinstance(value, str) else str(value)


def setting_of(name: str, value: object) -> str:
    """A line of [plan]: plan.recompute = "full"."""
    return f"plan.{name} = {spelled(value)}"


def changed(before: Plan, after: Plan) -> tuple[str, ...]:
    """The lines of [plan] in which two plans differ, as the second one has them."""
    return tuple(
        setting_of(field.name, getattr(after, field.name))
        for field in fields(Plan)
        if getattr(before, field.name) != getattr(after, field.name)
    )
