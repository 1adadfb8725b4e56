"""Algorithms of one's own for collectives: a function of a `Group` that returns a `Line`."""

from __future__ import annotations

import numpy as np

from foretrain.errors import InputError
from foretrain.plugins import COLLECTIVE, blamed, called, own
from foretrain.step.collectives.group import Algorithm, Group
from foretrain.step.collectives.line import Line, Number


def own_algorithm(name: str) -> Algorithm:
    """The algorithm that a user calls so, which checks what it says.

    Raises:
        InputError: there is no such thing, or it is no function.
    """
    found = own(COLLECTIVE, name)
    if found is None:
        raise InputError(
            f"unknown collective '{name}'. Write the name of one that foretrain has for "
            "this, or package.module:name, or register it by that name."
        )
    algorithm = called(found, name=name)

    def checked(group: Group) -> Line:
        with blamed(COLLECTIVE, name):
            line = algorithm(group)
        if not isinstance(line, Line):
            told = f"returned a {type(line).__name__}; a Line(fixed=, per_byte=) is wanted"
            raise InputError(f"collective '{name}': {told}.")
        return Line(
            fixed=_seconds(name, line.fixed, group), per_byte=_seconds(name, line.per_byte, group)
        )

    return checked


def _seconds(name: str, value: object, group: Group) -> Number:
    """Seconds of every group; infinite where the links cannot do it. [group]"""
    with blamed(COLLECTIVE, name):
        seconds = np.asarray(value, dtype=np.float64) + np.zeros_like(group.members)
    if seconds.shape != group.members.shape or not (seconds >= 0).all():
        raise InputError(
            f"collective '{name}': its seconds must be one number of at least 0 for each group, "
            f"got {np.asarray(value)}."
        )
    return seconds
