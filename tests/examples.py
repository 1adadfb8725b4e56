"""How many random examples a test draws that is too slow for Hypothesis' hundred."""

import os

from hypothesis import settings

MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 1


def few(count):
    """So many examples; ten times as many in the slow profile."""
    return settings(max_examples=count * MORE)
