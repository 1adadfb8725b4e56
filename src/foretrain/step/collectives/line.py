"""Lines: seconds that grow linearly with bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Number = NDArray[np.float64]

WHOLE = "-whole"
"""How the names of algorithms end that hand on whole messages."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """What an algorithm takes: `fixed + per_byte * size`. [group]

    Attributes:
        fixed: seconds of an empty message; infinite where the links cannot do it.
        per_byte: seconds per byte.
    """

    fixed: Number
    per_byte: Number

    def take(self, index: NDArray[np.intp]) -> Line:
        """The lines of some groups. [plan]"""
        return Line(fixed=self.fixed[index], per_byte=self.per_byte[index])

    def after(self, start: float) -> Line:
        """The same, begun later."""
        return Line(fixed=start + self.fixed, per_byte=self.per_byte)

    def twice(self) -> Line:
        """Two passes, such as a reduce-scatter and an all-gather."""
        return Line(fixed=2.0 * self.fixed, per_byte=2.0 * self.per_byte)
