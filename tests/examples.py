"""How many random examples a test draws that is too slow for a hundred, and among what."""

import os
from functools import lru_cache

from hypothesis import settings
from hypothesis import strategies as st

MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 1


def few(count, *, slow=None):
    """So many examples; in the slow profile ten times as many, or as many as are said."""
    return settings(max_examples=count if MORE == 1 else slow or count * MORE)


def among(values):
    """One of some values, which can be hashed.

    A plan is some twenty draws, and making, checking and labelling a new strategy for each takes
    longer than drawing from it. So strategies of the same values are one.
    """
    return _among(*values)


@lru_cache(maxsize=None, typed=True)  # 1 is not 1.0
def _among(*values):
    return st.sampled_from(values)
