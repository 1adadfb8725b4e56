"""What runs have in common that may be compared with one another."""

from __future__ import annotations

from collections.abc import Hashable

from foretrain.measured.run import MeasuredRun


def software(run: MeasuredRun) -> Hashable:
    """Who ran what with which software; a date stands for a release that is not stated."""
    told = (run.source_id, run.framework, run.stack, run.stack.container or run.date)
    return (*told, run.task, run.precision, run.linear_precision, run.optimizer)
