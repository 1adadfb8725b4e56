"""Extras: packages that an installation may lack, and the sentence that says what to install."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from foretrain.errors import MissingExtra

EXTRAS: Final[Mapping[str, str]] = {"torch": "PyTorch"}
"""What is imported, and how people call it; the extra of pyproject.toml is called the same."""

WHEEL_FOR_CPU: Final = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
"""Source: pytorch.org/get-started/locally. The default wheel brings gigabytes of CUDA."""


def missing(extra: str, *, what: str) -> str:
    """One line that says what to install, in words that every shell takes as they are.

    Args:
        extra: one of `EXTRAS`.
        what: cannot go on without it.
    """
    # Double quotes: cmd.exe takes single ones for letters, zsh expands bare brackets.
    return (
        f'{what} needs {EXTRAS[extra]}, which is not installed: pip install "foretrain[{extra}]"'
        f" (without a GPU, first: {WHEEL_FOR_CPU})."
    )


def require(extra: str, *, what: str) -> None:
    """Go on only where the extra is installed; it is looked for and not loaded.

    Raises:
        MissingExtra: it is not, with what to install.
    """
    if find_spec(extra) is None:
        raise MissingExtra(missing(extra, what=what))
