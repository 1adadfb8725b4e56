"""What the documentation computes from the code, so that it cannot go out of date."""

from __future__ import annotations

MARK = "<!-- coefficients -->"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the table of coefficients where a page asks for it; mkdocs calls this for each page."""
    return markdown.replace(MARK, coefficients_table()) if MARK in markdown else markdown


def coefficients_table() -> str:
    """A row for each coefficient of the default set: value, unit, interval, kind and source."""
    from foretrain.cost.coefficients import SOURCES

    head = "| coefficient | value | unit | from | to | kind | source |\n" + "|---" * 7 + "|"
    rows = (
        f"| `{name}` | {item.value:g} | {'' if item.unit == '1' else item.unit} | {item.low:g} "
        f"| {item.high:g} | {item.kind}{_rows(item.rows)} | {item.source} |"
        for name, item in SOURCES.items()
    )
    return "\n".join([head, *rows])


def _rows(rows: tuple[str, ...]) -> str:
    return f", {len(rows)} rows" if rows else ""
