"""The report of `doctor`: one line per check."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from foretrain.report import terminal
from foretrain.results.doctor import Check, Diagnosis, Health

COLOUR = {Health.OK: "green", Health.WARN: "yellow", Health.FAIL: "bold red"}


def diagnosis_text(diagnosis: Diagnosis) -> Group:
    """What the terminal shows of a diagnosis."""
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    for check in diagnosis.checks:
        grid.add_row(*_row(check))
    verdict = "Everything needed is here." if diagnosis.healthy else "Something needed is missing."
    return Group(grid, terminal.heading(verdict))


def _row(check: Check) -> tuple[RenderableType, ...]:
    health = Text(check.health.value, style=COLOUR[check.health])
    found = Text(check.found).append(f"  {check.advice}" if check.advice else "", "dim")
    return health, Text(check.name), found
