"""How many random examples a test draws that is too slow for a hundred, and among what."""

import os
from functools import lru_cache

import pytest
from hypothesis import settings
from hypothesis import strategies as st

TENTH = "TENTH" in os.environ
"""Whether a random tenth of the tests runs: what is long in itself is then shorter too."""

MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 1

slow = pytest.mark.slow
"""For a test that repeats a check of `validation/`, or trains: asked in the slow profile alone."""


def few(count, *, slow=None):
    """So many examples; in the slow profile ten times as many, or as many as are said."""
    return settings(max_examples=count if MORE == 1 else slow or count * MORE)


def every(step, values, *, slow=1):
    """Every so manieth of the values; in the slow profile all of them, or every `slow`th.

    Of several parameters in a row this takes each of every one, if no number of values is a
    multiple of the step.
    """
    return [*values][:: step if MORE == 1 else slow]


def among(values):
    """One of some values, which can be hashed.

    A plan is some twenty draws, and making, checking and labelling a new strategy for each takes
    longer than drawing from it. So strategies of the same values are one.
    """
    return _among(*values)


@lru_cache(maxsize=None, typed=True)  # 1 is not 1.0
def _among(*values):
    return st.sampled_from(values)
