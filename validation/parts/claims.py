"""Claims: a figure of ours beside the bar that it must keep. The other scripts make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass


def in_percent(value: float) -> str:
    """A fraction as a percentage."""
    return f"{value:.1%}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the accuracy table.

    Attributes:
        name: what is claimed.
        figure: what comes out; None where there is nothing to judge by.
        most: what it may be at most; None without such a bar.
        least: what it must be at least; None without such a bar.
        write: the figure in words.
        noisy: whether it differs from one time to the next, so that only the bar counts.
    """

    name: str
    figure: float | None
    most: float | None = None
    least: float | None = None
    write: Callable[[float], str] = in_percent
    noisy: bool = False

    @property
    def kept(self) -> bool | None:
        """Whether the bar is kept; None where there is none, or nothing to judge by."""
        if self.figure is None or (self.most is None and self.least is None):
            return None
        above = self.most is not None and self.figure > self.most
        below = self.least is not None and self.figure < self.least
        return not (above or below)

    @property
    def bar(self) -> str:
        """The bar in words."""
        least = None if self.least is None else self.write(self.least)
        most = None if self.most is None else self.write(self.most)
        if least and most:
            return f"{least} to {most}"
        return f"<= {most}" if most else f">= {least}" if least else "reported"

    @property
    def verdict(self) -> str:
        """Whether it is kept, in words."""
        return {True: "kept", False: "MISSED", None: ""}[self.kept]

    @property
    def shown(self) -> str:
        """The figure in words."""
        return "nothing to judge by" if self.figure is None else self.write(self.figure)


def table(claims: Iterable[Claim]) -> Iterator[str]:
    """The claims as lines."""
    every = list(claims)
    wide = max(len(claim.name) for claim in every)
    for claim in every:
        line = f"{claim.name:{wide}}  {claim.bar:>16}  {claim.shown:>9}  {claim.verdict}"
        yield line.rstrip()
