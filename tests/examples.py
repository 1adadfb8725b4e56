"""How many random examples a test draws that is too slow for Hypothesis' hundred."""

import os

from hypothesis import settings

MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 1


def few(count, *, slow=None):
    """So many examples; in the slow profile ten times as many, or as many as are said."""
    return settings(max_examples=count if MORE == 1 else slow or count * MORE)
