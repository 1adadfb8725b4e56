"""Remarks: sentences for the reader, told apart by what they are about and not by their words."""

from __future__ import annotations

from enum import StrEnum


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
