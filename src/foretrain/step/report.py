"""The report of `estimate`: what one plan takes, on one screen."""

from __future__ import annotations

from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Brief, Paper, Pieces, ReportSection
from foretrain.show.table import Fact
from foretrain.show.words import MEMORY, PARTS
from foretrain.step.facts import (
    answer,
    caution,
    few,
    in_brief,
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
    body: tuple[Block, ...] = (
        (*question(study), plan, *misfit(estimate)),
        "",
        *map(Brief, takes(study, estimate, more=False)),
        *map(Paper, takes(study, estimate, more=True)),
        "",
        Paper(caution(estimate)),
        Brief(in_brief(estimate)),
    )
    cluster = study.cluster
    return AnswerReport(
        kind="Estimate",
        title=f"{study.workload.model.name} on {cluster.devices:,} {cluster.device.name}",
        sections=(ReportSection(name="estimate", title="", body=body),),
        coefficients=True,
    )


def takes(study: Study, estimate: Estimate, *, more: bool) -> tuple[Block, ...]:
    """Time and memory of the plan in their parts, and what follows from them.

    Args:
        study: the question.
        estimate: the plan's.
        more: whether the smallest parts are told too.
    """
    capacity, heaviest = study.cluster.device.memory, estimate.memory.heaviest
    seconds, held = time_pieces(estimate.parts), memory_pieces(heaviest, capacity)
    if not more:
        seconds, held = few(seconds), few(held)
    return (
        (step(estimate),),
        Pieces(quantity=SECONDS, pieces=seconds, of="of the step", meanings=PARTS),
        (memory(study, estimate),),
        Pieces(quantity=BYTES, pieces=held, of="of the device", meanings=MEMORY),
        answer(study, estimate),
    )


def after_estimate(_study: object, answer: object) -> tuple[Fact, ...]:
    """What to ask next; of a transfer's curve nothing."""
    if not isinstance(answer, Estimate):
        return ()
    return (
        Fact(label="Explain", text="foretrain explain {study}"),
        Fact(label="Search", text="foretrain search {study}", more="leave plan keys out"),
        Fact(label="Calibrate", text="foretrain calibrate {study} run.log"),
    )
