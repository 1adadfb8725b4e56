"""Pages of the docs that show what a command found, between two marks."""

from __future__ import annotations

Marks = tuple[str, str]
"""Where it begins and where it ends; each a comment of its own."""


def put_between(page: str, marks: Marks, shown: str) -> str:
    """The page with these lines between its marks, whatever was there before."""
    head, tail = page.partition(marks[0])[0], page.partition(marks[1])[2]
    return f"{head}{marks[0]}\n{shown}\n{marks[1]}{tail}"
