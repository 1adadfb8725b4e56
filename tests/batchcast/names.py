"""Names of streams, for tests."""

import os
from itertools import count

_numbers = count()


def new_name():
    """A stream's name that nobody else has."""
    return f"test-{os.getpid()}-{next(_numbers)}"
