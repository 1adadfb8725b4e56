"""The report of `estimate`: what one plan takes, on one screen."""

from __future__ import annotations

from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Pieces, ReportSection
from foretrain.show.table import Fact
from foretrain.show.words import MEMORY, PARTS
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


def estimate_report(study: Study, estimate: Estimate) -> AnswerReport:
    """What is said of an estimate."""
    plan = Fact(label="Plan", text=str(estimate.plan))
    body = (
        (*question(study), plan, *misfit(estimate)),
        "",
        *takes(study, estimate),
        "",
        caution(estimate),
    )
    cluster = study.cluster
    return AnswerReport(
        kind="Estimate",
        title=f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}",
        sections=(ReportSection(name="estimate", title="", body=body),),
        coefficients=True,
    )


def takes(study: Study, estimate: Estimate) -> tuple[Block, ...]:
    """Time and memory of the plan in their parts, and what follows from them."""
    capacity, heaviest = study.cluster.device.memory, estimate.memory.heaviest
    return (
        (step(estimate),),
        Pieces(
            quantity=SECONDS,
            pieces=time_pieces(estimate.parts),
            of="of the step",
            meanings=PARTS,
        ),
        (memory(study, estimate),),
        Pieces(
            quantity=BYTES,
            pieces=memory_pieces(heaviest, capacity),
            of="of the device",
            meanings=MEMORY,
        ),
        answer(study, estimate),
    )
