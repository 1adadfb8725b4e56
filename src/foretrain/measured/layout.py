"""The plan of a measured run, from the columns that state its layout."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, Default, NotCovered, stated
from foretrain.measured.run import MeasuredRun, Table
from foretrain.plan.plan import AXES, Order, Plan, Recompute, Sends, Sharding
from foretrain.workload.operator import Attention

RECOMPUTE: Mapping[str, Recompute] = MappingProxyType(
    {
        "none": Recompute.NONE,
        "sequence parallel only": Recompute.NONE,
        "selective": Recompute.SELECTIVE,
        "selective only": Recompute.SELECTIVE,
        "selective (attention)": Recompute.SELECTIVE,
        "full": Recompute.FULL,
    }
)
FLASH_PUBLISHED = "2022-06"
OVERLAP_SINCE = 2023
MEGATRON = ("megatron", "nemo", "neox")


def plan_of(run: MeasuredRun, assumptions: Assumptions) -> Plan:
    """How a run was laid out.

    Raises:
        NotCovered: an axis that foretrain does not know, or a blank that must not be guessed.
    """
    data, tensor, pipeline = _degrees(run)
    interleaving = _interleaving(run, pipeline, assumptions)
    return Plan(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        interleaving=interleaving,
        micro_batch=_micro_batch(run, data),
        sequence_parallel=_sequence_parallel(run, tensor, assumptions),
        sharding=_sharding(run, data, assumptions),
        recompute=_recompute(run, assumptions),
        attention=_attention(run, assumptions),
        sends=_sends(run, (pipeline, interleaving), assumptions),
        order=_order((data, tensor, pipeline), assumptions),
    )


def _degrees(run: MeasuredRun) -> tuple[int, int, int]:
    layout = run.layout
    if (layout.context or 1) > 1:
        raise NotCovered("context parallelism")
    degrees = (
        stated(layout.data, "degree of the data axis"),
        stated(layout.tensor, "degree of the tensor axis"),
        stated(layout.pipeline, "degree of the pipeline axis"),
    )
    if prod(degrees) != stated(run.place.devices, "number of devices"):
        raise NotCovered("degrees do not multiply to the number of devices")
    return degrees


def _interleaving(run: MeasuredRun, pipeline: int, assumptions: Assumptions) -> int:
    if pipeline == 1:
        return 1
    return assumptions.fill(run.layout.interleaving, defaults.NO_INTERLEAVING)


def _micro_batch(run: MeasuredRun, data: int) -> int:
    size = stated(run.layout.micro_batch, "micro-batch")
    batch = stated(run.global_batch, "global batch")
    if not size.is_integer() or size < 1 or batch % (int(size) * data):
        raise NotCovered("global batch is not a whole number of micro-batches on every replica")
    return int(size)


def _sharding(run: MeasuredRun, data: int, assumptions: Assumptions) -> Sharding:
    if data == 1:
        return Sharding.NONE
    stage = assumptions.fill(run.layout.zero_stage, defaults.NO_SHARDING)
    if stage > 1:
        raise NotCovered(f"sharding of {'gradients' if stage == 2 else 'parameters'}")
    return Sharding(stage)


def _recompute(run: MeasuredRun, assumptions: Assumptions) -> Recompute:
    if run.table is Table.CNN_TRAINING:
        return assumptions.take(defaults.NO_RECOMPUTE)
    words = (run.layout.recompute or None) and run.layout.recompute.split("+")[0].strip()
    words = stated(words, "recomputation")
    if words not in RECOMPUTE:
        raise NotCovered(f"recomputation '{words}'")
    return RECOMPUTE[words]


def _sequence_parallel(run: MeasuredRun, tensor: int, assumptions: Assumptions) -> bool:
    if tensor == 1:
        return False
    if "sequence parallel" in run.layout.recompute:
        return True
    if "sequence parallelism off" in run.notes:
        return False
    return assumptions.take(defaults.NO_SEQUENCE_PARALLEL)


def _attention(run: MeasuredRun, assumptions: Assumptions) -> Attention:
    words = run.layout.attention.lower()
    if "unfused" in words or "pre-flash" in words:
        return Attention.PLAIN
    if "flash" in words:
        return Attention.FLASH
    if run.table is Table.CNN_TRAINING:
        return Attention.FLASH
    if words:
        raise NotCovered(f"attention '{words}'")
    early = run.year is not None and run.date < FLASH_PUBLISHED
    return assumptions.take(defaults.PLAIN_ATTENTION if early else defaults.FLASH_ATTENTION)


def _sends(run: MeasuredRun, stages: tuple[int, int], assumptions: Assumptions) -> Sends:
    """`stages`: degree of the pipeline axis and chunks per stage."""
    pipeline, interleaving = stages
    if pipeline == 1:
        return Sends.OVERLAPPED
    megatron = any(name in run.framework.lower() for name in MEGATRON)
    overlaps = interleaving > 1 and (run.year or OVERLAP_SINCE) >= OVERLAP_SINCE
    chosen: Default[Sends] = (
        defaults.BLOCKING_SENDS if megatron and not overlaps else defaults.OVERLAPPED_SENDS
    )
    return assumptions.take(chosen)


def _order(degrees: tuple[int, int, int], assumptions: Assumptions) -> Order:
    """The order of ranks, which matters only where two axes or more are used."""
    if sum(degree > 1 for degree in degrees) < 2:
        return AXES
    return assumptions.take(defaults.RANK_ORDER)
