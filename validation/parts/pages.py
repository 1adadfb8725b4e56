"""Pages of the docs that show what a command found, between two marks."""

from __future__ import annotations

import re

Marks = tuple[str, str]
"""Where it begins and where it ends; each a comment of its own."""


def put_between(page: str, marks: Marks, shown: str) -> str:
    """The page with these lines between its marks, whatever was there before."""
    head, tail = page.partition(marks[0])[0], page.partition(marks[1])[2]
    return f"{head}{marks[0]}\n{shown}\n{marks[1]}{tail}"


def plain(text: str) -> str:
    """A text without the spaces that align its columns."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def shows(page: str, command: str, printed: str) -> bool:
    """Whether a page shows below a command what it printed; `...` there stands for anything."""
    shown = page.partition(f"$ {command}\n")[2].partition("```")[0]
    pattern = re.escape(plain(shown)).replace(r"\.\.\.", ".*?")
    return bool(shown) and re.fullmatch(pattern, plain(printed), re.DOTALL) is not None
