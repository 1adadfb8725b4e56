"""Records: what has come out so far, in a file and in a table on a page; what has dropped."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.parts.claims import Claim, table
from validation.parts.pages import put_between

README = Path(__file__).parents[2] / "README.md"

ROUNDING = 0.001
"""Difference of two figures that other versions of NumPy may make."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Where the figures of a script are recorded.

    Attributes:
        path: of the file.
        command: the module that writes it.
        mark: what the two comments around its table are called.
        page: where the table stands.
    """

    path: Path
    command: str
    mark: str
    page: Path = README

    @property
    def around(self) -> tuple[str, str]:
        """What stands before and after the table."""
        return (
            f"<!-- {self.mark}: python -m {self.command} --record -->",
            f"<!-- end of {self.mark} -->",
        )


def told(found: Sequence[Claim], kept: Recorded, *, record: bool, whole: bool = True) -> int:
    """Prints the table; 1 if a figure has dropped.

    Args:
        found: what came out.
        kept: where it is recorded.
        record: whether to record it now.
        whole: whether these are all claims; otherwise those that are missing are not missed.
    """
    if record:
        kept.path.write_text(as_toml(found, kept.command), "utf-8")
        text = kept.page.read_text("utf-8")
        kept.page.write_text(shown_in(text, recorded(kept.path), around=kept.around), "utf-8")
    print("\n".join(table(found)))
    lost = [text for text in drops(found, recorded(kept.path)) if whole or "GONE" not in text]
    print("\n".join(lost) or "nothing has dropped below what is recorded")
    return 1 if lost else 0


def as_toml(found: Sequence[Claim], command: str) -> str:
    """What came out, with the bars, for the table of a page."""
    lines = [f"# What came out of `python -m {command} --record`.", ""]
    for claim in found:
        figure = f"{claim.figure:.6g}" if claim.figure is not None else '"none"'
        lines += [f'["{claim.name}"]', f"figure = {figure}", f'bar = "{claim.bar}"']
        lines += [f'shown = "{claim.shown}"', f'verdict = "{claim.verdict}"', ""]
    return "\n".join(lines)


def recorded(path: Path) -> Mapping[str, Mapping[str, object]]:
    """What came out before; nothing if nothing is recorded."""
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def drops(found: Sequence[Claim], before: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Figures that are worse than recorded, and claims that nobody makes any more."""
    for claim in found:
        then = before.get(claim.name, {}).get("figure")
        if isinstance(then, float | int) and _dropped(claim, float(then)):
            yield f"DROPPED: {claim.name}: {claim.shown}, recorded {claim.write(float(then))}"
    names = {claim.name for claim in found}
    yield from (f"GONE: {name}" for name in before if name not in names)


def _dropped(claim: Claim, then: float) -> bool:
    """Whether a figure with a bar is farther from what is wanted than it was."""
    if claim.most is None and claim.least is None:
        return False
    if claim.noisy or claim.figure is None:
        return not claim.kept
    if claim.most is not None and claim.least is not None:
        return claim.kept is False and _outside(claim, then) + ROUNDING < _outside(
            claim, claim.figure
        )
    worse = then - claim.figure if claim.least is not None else claim.figure - then
    return worse > ROUNDING


def _outside(claim: Claim, figure: float) -> float:
    """How far a figure lies outside of a bar with two ends."""
    return max(0.0, (claim.least or 0.0) - figure, figure - (claim.most or figure))


def shown_in(
    text: str, before: Mapping[str, Mapping[str, object]], *, around: tuple[str, str]
) -> str:
    """A text with the recorded table between the two marks."""
    return put_between(text, around, markdown(before))


def markdown(before: Mapping[str, Mapping[str, object]]) -> str:
    """The recorded figures that have a bar, as a page shows them."""
    lines = ["| what | must | is | |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {row['bar']} | {row['shown']} | {row['verdict']} |"
        for name, row in before.items()
        if row["verdict"]
    ]
    return "\n".join(lines)
