"""The report of `estimate`: what one plan takes, on one screen."""

from __future__ import annotations

from rich.console import Group

from foretrain.plan.study import Study
from foretrain.show import terminal
from foretrain.show.table import Fact
from foretrain.step.facts import (
    answer,
    caution,
    memory,
    memory_pieces,
    misfit,
    question,
    step,
    time_pieces,
)
from foretrain.step.result import Estimate
from foretrain.units import BYTES, SECONDS


def estimate_text(study: Study, estimate: Estimate) -> Group:
    """What the terminal shows of an estimate."""
    plan = Fact(label="Plan", text=str(estimate.plan))
    return Group(
        terminal.facts((*question(study), plan, *misfit(estimate))),
        "",
        takes(study, estimate),
        "",
        terminal.facts(caution(estimate)),
    )


def takes(study: Study, estimate: Estimate) -> Group:
    """Time and memory of the plan in their parts, and what follows from them."""
    capacity = study.cluster.device.memory
    return Group(
        terminal.facts([step(estimate)]),
        terminal.pieces(time_pieces(estimate.parts), SECONDS),
        terminal.facts([memory(study, estimate)]),
        terminal.pieces(memory_pieces(estimate.memory.heaviest, capacity), BYTES),
        terminal.facts(answer(study, estimate)),
    )
