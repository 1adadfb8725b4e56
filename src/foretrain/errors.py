"""The errors that a user can mend.

ForetrainError
├── InputError          what you wrote cannot be used as it is
├── UnsupportedModel    a model that we cannot read or price yet
├── MissingCoefficient  a constant that must be measured or given first
├── MissingExtra        a package that this installation lacks
└── NoPlanFits          nothing in the space runs on this cluster

Each message says where, what is wrong, what is allowed and what to do. A broken invariant of ours
is a plain `AssertionError`: our bug, not the user's.

Extras: packages that an installation may lack, and the sentence that says what to install.

Remarks: sentences for the reader, told apart by what they are about and not by their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from importlib.util import find_spec
from typing import Final


class About(StrEnum):
    """What a sentence is about, where somebody has to know."""

    ASSUMED = "assumed"
    """A value that nobody gave."""
    TIGHT = "tight"
    """Memory that may not suffice."""


class Remark(str):
    """A sentence that is shown and written like any other text.

    Attributes:
        about: what it is about.
        brief: what is left to say where a label says what it is about.
        key: of the study, whose value it says; empty if it is about none.
    """

    __slots__ = ("about", "brief", "key")

    about: About
    brief: str
    key: str

    def __new__(cls, text: str, *, about: About, brief: str = "", key: str = "") -> Remark:
        """The sentence."""
        made = super().__new__(cls, text)
        made.about, made.brief, made.key = about, brief or text, key
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]:
        """How another process makes it."""
        return (str(self),), {"about": self.about, "brief": self.brief, "key": self.key}


def assumed(text: str) -> Remark:
    """The sentence that something was assumed."""
    return Remark(f"assumed {text}", about=About.ASSUMED, brief=text)


def of(texts: tuple[str, ...], about: About) -> tuple[Remark, ...]:
    """Those of some texts that are about something."""
    return tuple(each for each in texts if isinstance(each, Remark) and each.about is about)


MOST_QUOTED: Final = 60
"""Characters of a user's value that a message quotes."""

MOST_IN_A_LINE: Final = 4000
"""Characters of a line of a message; what we list ourselves, such as all models, has fewer."""


class ForetrainError(Exception):
    """Something that the user can mend; commands print it without a traceback."""

    def __init__(self, message: str = "") -> None:
        lines = message.split("\n")
        super().__init__("\n".join(shortened(line, most=MOST_IN_A_LINE) for line in lines))


class InputError(ForetrainError, ValueError):
    """A value or a document that cannot be used; also a ValueError, so that readers gather many."""


class UnsupportedModel(ForetrainError):
    """A model that foretrain cannot read or price."""


class MissingCoefficient(ForetrainError):
    """A constant without which the prediction would be a guess."""


class MissingExtra(ForetrainError, ImportError):
    """A package that is not installed; also an ImportError, for who tries and does without."""


class NoPlanFits(ForetrainError):
    """No plan of the space runs on the cluster; the message names the nearest miss in memory."""


def shortened(text: str, *, most: int = MOST_QUOTED) -> str:
    """A text with its middle left out where it is longer than the most."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 3]}...{text[-tail:]}"


MOST_MEANT: Final = 4
"""Known words that a message offers in place of one."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence with what may be meant, or an empty text where nothing is near.

    Known words of which the word is a part, as `a100` is of `a100-sxm-80gb`, are nearer than one
    that is spelt like it, such as `a10`.
    """
    spelt = {each.lower(): each for each in known}
    wanted = word.lower()
    parts = [each for each in spelt if wanted and f"-{wanted}-" in f"-{each}-"]
    begun = sorted(parts, key=lambda each: not each.startswith(wanted))
    meant = begun[:MOST_MEANT] or get_close_matches(wanted, spelt, n=1, cutoff=0.6)
    if not meant:
        return ""
    *others, last = (f"'{spelt[each]}'" for each in meant)
    return f" Did you mean {', '.join(others)}{' or ' * bool(others)}{last}?"


EXTRAS: Final[Mapping[str, str]] = {
    "torch": "PyTorch",
    "transformers": "transformers",
    "onnx": "onnx",
}
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


def absent(*extras: str) -> tuple[str, ...]:
    """The extras that are not installed; they are looked for and not loaded."""
    return tuple(extra for extra in extras if find_spec(extra) is None)


def require(extra: str, *, what: str) -> None:
    """Go on only where the extra is installed; it is looked for and not loaded.

    Raises:
        MissingExtra: it is not, with what to install.
    """
    if absent(extra):
        raise MissingExtra(missing(extra, what=what))
