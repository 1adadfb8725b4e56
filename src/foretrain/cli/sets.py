"""Sets of coefficients that a command is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretrain.coefficients.calibration import Calibration


def chosen(path: Path | None) -> Calibration:
    """The set in a file; the shipped one without a file."""
    from foretrain.files.calibration import read_calibration
    from foretrain.files.coefficients import SHIPPED

    return SHIPPED if path is None else read_calibration(path)
