"""The report of `estimate`: what one plan takes, on one screen."""

from __future__ import annotations

from dataclasses import replace

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
    body = (
        (*question(study), plan, *misfit(estimate)),
        "",
        *takes(study, estimate),
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


def takes(study: Study, estimate: Estimate) -> tuple[Block, ...]:
    """Time and memory of the plan in their parts, and what follows from them."""
    capacity, heaviest = study.cluster.device.memory, estimate.memory.heaviest
    seconds, held = time_pieces(estimate.parts), memory_pieces(heaviest, capacity)
    time = Pieces(quantity=SECONDS, pieces=seconds, of="of the step", meanings=PARTS)
    room = Pieces(quantity=BYTES, pieces=held, of="of the device", meanings=MEMORY)
    return (
        (step(estimate),),
        Brief(replace(time, pieces=few(seconds))),
        Paper(time),
        (memory(study, estimate),),
        Brief(replace(room, pieces=few(held))),
        Paper(room),
        answer(study, estimate),
    )


def after_estimate(_study: object, answer: object) -> tuple[Fact, ...]:
    """What to ask next; of a transfer's curve nothing."""
    if not isinstance(answer, Estimate):
        return ()
    return (
        Fact(label="Explain", text="foretrain explain {study}"),
        Fact(label="Search", text="foretrain search {study}", more="leave plan keys out"),
        Fact(label="Calibrate", text="foretrain calibrate {study} --step-time LINE"),
    )
