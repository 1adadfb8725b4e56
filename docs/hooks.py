"""What the documentation computes from the code, so that it cannot go out of date."""

from __future__ import annotations

from typing import Any

MARK = "<!-- coefficients -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table of coefficients where a page asks for it; mkdocs calls this for each page."""
    return markdown.replace(MARK, coefficients_table()) if MARK in markdown else markdown


def coefficients_table() -> str:
    """A row for each coefficient of the default set: value, unit, interval, kind and source."""
    from foretrain.cost.coefficients import SOURCES

    head = "| coefficient | value | unit | from | to | kind | source |\n|---|---|---|---|---|---|---|"
    rows = (
        f"| `{item.name}` | {item.value:g} | {item.unit} | {item.low:g} | {item.high:g} "
        f"| {item.kind} | {item.source} |"
        for item in SOURCES
    )
    return "\n".join([head, *rows])
