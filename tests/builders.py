"""Realistic questions and answers, so that tests of the faces need no physics."""

from __future__ import annotations

from dataclasses import replace

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Level, Link, Peak, Technology
from foretrain.coefficients.intervals import Situation
from foretrain.evidence.validate import (
    MeasuredQuantity,
    Status,
    Validation,
    ValidationRow,
    ValidationSummary,
)
from foretrain.measured.run import Subject
from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.plan.study import Objective, Space, Study
from foretrain.search.candidate import Proposal
from foretrain.search.result import Cell, ParetoPoint, Progress, SearchResult
from foretrain.show.document import CoefficientSource, Provenance
from foretrain.step.result import (
    Confidence,
    Estimate,
    JobParts,
    JobTime,
    Memory,
    Nearest,
    Parts,
    Ranked,
    StageMemory,
)
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator, OperatorKind
from foretrain.workload.workload import Workload

GIB = 2.0**30
TOKENS = 8192
STEPS = 15e12 / (1024 * TOKENS)

BLOCK = Operator(
    name="everything",
    kind=OperatorKind.MATMUL,
    matrices=Matrices(rows=TOKENS, columns=8192, depth=106_000),
    weights=855.6e6,
)
H100 = Device(
    name="h100-sxm-80gb",
    peak=Peak(fp32=67e12, tf32=494.7e12, fp16=989.4e12, bf16=989.4e12),
    memory=80e9,
    memory_bandwidth=3.35e12,
    units=132,
    power=700.0,
)
NVLINK = Link(latency=5e-6, bandwidth=450e9, technology=Technology.NVLINK)
FABRIC = Link(latency=8e-6, bandwidth=50e9, capacity=400e9, technology=Technology.INFINIBAND)


def llama() -> Model:
    """Llama-3-70B, every operator of a block folded into one."""
    ends = {"input": 8192.0, "output": 8192.0, "cuttable": False}
    table = Operator(name="table", kind=OperatorKind.MEMORY, weights=1.0507e9)
    return Model(
        name="llama-3-70b",
        layers=(
            Layer(name="embedding", operators=(table,), **ends),
            Layer(name="block", operators=(BLOCK,), repeats=80, input=8192.0, output=8192.0),
            Layer(name="head", operators=(table,), **ends),
        ),
        tokens=TOKENS,
    )


def study(**changes: object) -> Study:
    """Llama-3-70B on 512 H100, every field of the plan free."""
    cluster = Cluster(
        name="dgx-h100",
        device=H100,
        levels=(
            Level(name="node", members=8, link=NVLINK),
            Level(name="fabric", members=64, link=FABRIC),
        ),
        price=2.5 / 3600,
        node_power=10_200.0,
    )
    workload = Workload(model=llama(), global_batch=1024, samples=15e12 / TOKENS)
    assumed = ("workload.precision: bf16",)
    return replace(
        Study(workload=workload, cluster=cluster, space=Space(), assumed=assumed), **changes
    )


def plan(**changes: object) -> Plan:
    """Eight-way tensor parallel, four stages, sixteen replicas."""
    common = Plan(
        data=16,
        tensor=8,
        pipeline=4,
        sequence_parallel=True,
        sharding=Sharding.OPTIMIZER,
        recompute=Recompute.SELECTIVE,
    )
    return replace(common, **changes)


def memory(stages: int) -> Memory:
    """Four stages or so, of which the first keeps most activations."""
    rows = tuple(
        StageMemory(
            stage=stage,
            weights=4.2 * GIB,
            gradients=8.4 * GIB,
            optimizer=1.6 * GIB,
            activations=6.5 * GIB * (stages - stage),
            buffers=2.3 * GIB,
            total=16.5 * GIB + 6.5 * GIB * (stages - stage),
            allocated=15.0 * GIB + 6.5 * GIB * (stages - stage),
        )
        for stage in range(stages)
    )
    first = rows[0]
    return Memory(
        weights=first.weights,
        gradients=first.gradients,
        optimizer=first.optimizer,
        activations=first.activations,
        buffers=first.buffers,
        total=first.total,
        allocated=first.allocated,
        low=0.95 * first.total,
        high=1.06 * first.total,
        probability_fits=0.999,
        stages=rows,
    )


def parts(scale: float = 1.0) -> Parts:
    """Parts of a step of about 11 seconds."""
    return Parts(
        forward=2.95 * scale,
        backward=5.9 * scale,
        recompute=0.21 * scale,
        tensor=1.12 * scale,
        pipeline=0.04 * scale,
        bubble=0.48 * scale,
        gradients=0.06 * scale,
        parameters=0.09 * scale,
        update=0.02 * scale,
        other=0.01 * scale,
    )


def job(steps: float, **changes: object) -> JobTime:
    """A job that nobody asked about: its steps alone."""
    whole = JobTime(
        start_time=0.0,
        goodput=1.0,
        parts=JobParts(steps=steps),
        checkpoint_bytes=14 * 70.55e9,
        checkpoint_interval=None,
        checkpoint_seconds=None,
        failures=0.0,
    )
    return replace(whole, **changes)


def estimate(scale: float = 1.0, **changes: object) -> Estimate:
    """One plan of the study; `scale` stretches its step."""
    step = parts(scale)
    seconds = step.total
    flop = 6 * 70.55e9 * 1024 * TOKENS / 512
    chosen = changes.get("plan", plan())
    whole = Estimate(
        plan=plan(),
        devices=512,
        step_time=seconds,
        closed_form=seconds,
        simulated=seconds * 1.004,
        step_time_low=0.93 * seconds,
        step_time_high=1.09 * seconds,
        parts=step,
        memory=memory(chosen.pipeline),
        samples_per_second=1024 / seconds,
        tokens_per_second_per_device=1024 * TOKENS / seconds / 512,
        model_flops_per_second_per_device=flop / seconds,
        mfu=flop / seconds / 989.4e12,
        hfu=1.02 * flop / seconds / 989.4e12,
        cost_per_step=512 * seconds * 2.5 / 3600,
        energy_per_step=64 * seconds * 10_200.0,
        epoch_time=None,
        start_time=0.0,
        goodput=1.0,
        time_to_train=STEPS * seconds,
        time_to_train_low=STEPS * 0.9 * seconds,
        time_to_train_high=STEPS * 1.2 * seconds,
        cost_to_train=STEPS * 512 * seconds * 2.5 / 3600,
        cost_to_train_low=None,
        cost_to_train_high=None,
        job=job(STEPS * seconds),
        fits=True,
        probability_fits=memory(chosen.pipeline).probability_fits,
        reason=None,
        confidence=Confidence(
            inside_calibration=False,
            nearest=(
                Nearest(
                    id="korthikanti-0001",
                    run="22B on 8 a100-sxm-80gb",
                    rows=8,
                    differs=("device",),
                    error=0.03,
                ),
            ),
            outside="no run on h100-sxm-80gb",
            situation=Situation(device="h100-sxm-80gb", devices=8, parameters=7e9),
        ),
        warnings=(
            "assumed workload.precision: bf16",
            "Failures are not modelled: time to train counts steps alone.",
        ),
        sources=("korthikanti2022", "narayanan2021"),
    )
    return replace(whole, **changes)


def ranked(number: int) -> Ranked:
    """The plan at one place of the ranking."""
    degrees = ((8, 4, 16), (4, 8, 16), (8, 8, 8), (4, 4, 32), (8, 2, 32))
    tensor, pipeline, data = degrees[number % len(degrees)]
    chosen = plan(tensor=tensor, pipeline=pipeline, data=data, interleaving=1 + number // 5)
    taken = estimate(1.0 + 0.015 * number, plan=chosen)
    return Ranked(plan=chosen, estimate=taken, cluster="dgx-h100", nodes=64)


def cells() -> tuple[Cell, ...]:
    """The map of the study's space: cells priced, bounded and refused."""
    return tuple(
        cell(tensor, pipeline) for tensor in (1, 2, 4, 8) for pipeline in (1, 2, 4, 5, 8, 10, 16)
    )


def cell(tensor: int, pipeline: int) -> Cell:
    """Fastest at the plan's own degrees; tight for small ones, hopeless for the smallest."""
    devices, far = tensor * pipeline, abs(tensor - 8) / 8 + abs(pipeline - 4) / 8
    value, fits = parts().total * (1 + 0.5 * far), devices > 4 and far < 1
    return Cell(
        tensor=tensor,
        pipeline=pipeline,
        plans=1_000 + 10 * devices,
        best=value if fits else None,
        plan=plan(tensor=tensor, pipeline=pipeline, data=512 // devices) if fits else None,
        bound=value if devices > 4 and far >= 1 else None,
    )


NAMES = ("fastest, safest", "simplest", "least memory", "runner-up")


def proposal(entry: Ranked, place: int) -> Proposal:
    """A plan of the ranking as it is proposed."""
    return Proposal(
        plan=entry.plan,
        estimate=entry.estimate,
        cluster=entry.cluster,
        nodes=entry.nodes,
        trainers=entry.trainers,
        name=NAMES[place],
        class_=place,
        probability_best=(0.6, 0.2, 0.1, 0.05)[place],
        folded=(3, 2, 0, 1)[place],
        more=0.09 * place,
    )


def search_result(keep: int = 10, **changes: object) -> SearchResult:
    """The ten best plans of the study."""
    ranking = tuple(ranked(number) for number in range(keep))
    plans = tuple(proposal(entry, place) for place, entry in enumerate(ranking[:4]))
    front = tuple(
        ParetoPoint(
            plan=plan(micro_batch=2**number, pipeline=4, recompute=Recompute(min(number, 2))),
            step_time=ranking[0].estimate.step_time * (1 + 0.09 * number**1.5),
            memory=(42.0 - 6.2 * number + 0.35 * number**2) * GIB,
            cost_per_step=ranking[0].estimate.cost_per_step * (1 + 0.09 * number**1.5),
            energy_per_step=ranking[0].estimate.energy_per_step * (1 + 0.09 * number**1.5),
            cluster="dgx-h100",
            devices=512,
        )
        for number in range(6)
    )
    whole = SearchResult(
        objective=Objective.TIME,
        best=plans[0],
        plans=plans,
        ranking=ranking,
        pareto=front,
        space=48_216,
        priced=9_310,
        excluded_by_bound=0,
        rejected={
            "needs more memory than a device has": 31_744,
            "stages do not divide the layers": 6_002,
            "micro-batches do not fill the stages": 1_160,
        },
        unseen=0,
        cells=cells(),
        seconds=0.0312,
        proven_optimal=True,
        gap=0.0,
    )
    return replace(whole, **changes)


def progress(**changes: object) -> Progress:
    """How far the search had come a while ago."""
    best = ranked(0)
    whole = Progress(
        objective=Objective.TIME,
        settled=12_000,
        space=48_216,
        best=best.estimate.step_time,
        plan=best.plan,
        gap=0.031,
    )
    return replace(whole, **changes)


def validation() -> Validation:
    """Three runs of one source: one predicted, one not covered, one not to be scored."""
    rows = [
        (f"korthikanti-{size}", 1.0 + 0.01 * number, Status.PREDICTED)
        for number, size in enumerate(("22b", "175b", "530b", "1t"))
    ]
    predicted = tuple(
        ValidationRow(
            id=name,
            source_id="korthikanti",
            quantity=MeasuredQuantity.STEP_TIME,
            subject=Subject.STEP_TIME,
            measured=10.0,
            predicted=10.0 * ratio,
            low=9.0,
            high=11.0,
            error=ratio - 1,
            fits=True,
            status=status,
            reason="",
        )
        for name, ratio, status in rows
    )
    missed = replace(
        predicted[0],
        id="moe-1",
        source_id="elsewhere",
        predicted=None,
        low=None,
        high=None,
        error=None,
        fits=None,
        status=Status.NOT_PREDICTED,
        reason="mixture of experts is not covered",
    )
    scored = ValidationSummary(
        source_id="korthikanti",
        quantity=MeasuredQuantity.STEP_TIME,
        subject=Subject.STEP_TIME,
        rows=4,
        predicted=4,
        mape=0.015,
        median=0.015,
        p90=0.027,
        bias=0.015,
        interval_coverage=1.0,
        interval_width=0.2,
    )
    nothing = ValidationSummary(
        source_id="elsewhere",
        quantity=MeasuredQuantity.STEP_TIME,
        subject=Subject.STEP_TIME,
        rows=1,
        predicted=0,
        mape=None,
        median=None,
        p90=None,
        bias=None,
        interval_coverage=None,
        interval_width=None,
    )
    return Validation(rows=(*predicted, missed), summary=(scored, nothing))


def provenance() -> Provenance:
    """Version, fingerprint and two coefficients."""
    return Provenance(
        version="0.1.0",
        inputs="4f2a" * 16,
        coefficients="default-1",
        sources=(
            CoefficientSource(
                name="launch",
                value=4e-6,
                unit="s",
                low=3e-6,
                high=6e-6,
                source="measured on an H100, docs/background/launch.md",
                kind="measured",
            ),
            CoefficientSource(
                name="link_efficiency.nvlink",
                value=0.8,
                unit="",
                low=0.72,
                high=0.86,
                source="nccl-tests, published tables",
                kind="published",
            ),
        ),
    )
