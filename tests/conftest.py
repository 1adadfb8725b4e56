"""How Hypothesis searches: without deadlines everywhere, without chance where CI is set.

The profile `slow` (make test-slow) draws ten times as many examples.
"""

import os

from hypothesis import HealthCheck, settings
from tests.examples import MORE

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local")

# Some laws concern few of the random plans; drawing the others is cheap.
COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.filter_too_much],
}
settings.register_profile("local", **COMMON)
settings.register_profile("ci", **COMMON, derandomize=True)
settings.register_profile("slow", **COMMON, max_examples=100 * MORE)
settings.load_profile(PROFILE)
