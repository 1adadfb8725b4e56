"""Cases: a measured run in the words of the nouns, ready to be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.layout import batch_of, plans_of
from foretrain.measured.network import model_of, reads_images
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.policies import (
    degrees_of,
    groups_experts,
    not_understood,
    overlaps_products,
    sends_once,
)
from foretrain.measured.precision import PURE, gradients_of, precision_of, reduces_late
from foretrain.measured.run import MeasuredRun, Place, Subject, TableKind
from foretrain.measured.software import (
    by_litgpt,
    completed,
    execution_of,
    relays,
    sees_all,
    software_of,
)
from foretrain.plan.plan import Plan
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.workload import Optimizer, Precision, Workload

TABLES = frozenset(
    {
        TableKind.LLM_TRAINING,
        TableKind.CNN_TRAINING,
        TableKind.OTHER_TRAINING,
        TableKind.SINGLE_DEVICE,
        TableKind.MEMORY,
    }
)
NOT_COVERED: Mapping[TableKind, str] = MappingProxyType(
    {
        TableKind.PARAMETER_SERVER: "plans have no parameter servers yet",
        TableKind.CLUSTER_TRACES: "traces of a cluster describe jobs, not steps of a plan",
    }
)
"""Why rows of a table are not predicted, where that is no matter of the row."""

PASSES = "forward+backward"
"""How a task starts that measures a step without its update."""

TASKS = (
    "pretrain",
    "train",
    "fine-tune",
    "SFT",
    "LoRA",
    "classification",
    "detection",
    "segmentation",
    "speech",
    "recommendation",
    "drugdiscovery",
    "forecasting",
    "fastspeech",
    PASSES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a run learned, where and how.

    Attributes:
        workload: what.
        cluster: where.
        plan: how.
        heavier: plans that recompute more, in the order in which they replace a plan that does not
            fit; none where the source states what is recomputed.
        assumed: every default that stands for a blank.
        software: habits of the trainer.
    """

    workload: Workload
    cluster: Cluster
    plan: Plan
    heavier: tuple[Plan, ...] = ()
    assumed: tuple[str, ...]
    software: Software = SHARED

    @property
    def plausible(self) -> tuple[Plan, ...]:
        """Every plan that may be meant, the lightest first."""
        return self.plan, *self.heavier


def case_of(run: MeasuredRun, catalogue: Catalogue) -> Case:
    """A run in the words of the nouns.

    Raises:
        NotCovered: foretrain does not predict such a run, or a blank must not be guessed.
        InputError: the row contradicts itself.
    """
    if run.table not in TABLES:
        why = NOT_COVERED.get(run.table, "has no steps of a training")
        raise NotCovered(f"tables of kind {run.table} are not covered: {why}")
    if run.subject is Subject.ACTIVATION_SHARE:
        run = _one_micro_batch(run)
    if by_litgpt(run):
        run = completed(run)
    assumptions = Assumptions()
    _require_whole_training(run, assumptions)
    model = model_of(run, assumptions)
    cluster = cluster_of(_placed(run, assumptions), catalogue, assumptions)
    degrees = degrees_of(run, model, assumptions)
    batch = batch_of(run, degrees, assumptions, tokens=model.tokens)
    plan, *heavier = plans_of(run, model, (degrees, batch), assumptions=assumptions)
    workload = Workload(
        model=model,
        global_batch=batch.step,
        precision=precision_of(run, cluster.device, assumptions),
        optimizer=_optimizer(run, assumptions),
        gradients=gradients_of(run, assumptions),
    )
    software = _software(run, workload.precision, assumptions)
    for words in not_understood(run):
        assumptions.note(words)
    return Case(
        workload=workload,
        cluster=cluster,
        plan=plan,
        heavier=tuple(heavier),
        assumed=assumptions.words,
        software=software,
    )


def _placed(run: MeasuredRun, assumptions: Assumptions) -> Place:
    """Where it ran, on the device and the fabric of its source if it names none."""
    place, source = run.place, run.source_id
    if not place.device and source in defaults.DEVICES:
        place = replace(place, device=assumptions.take(defaults.DEVICES[source]))
    if (
        not place.fabric
        and source in defaults.FABRICS
        and (place.devices or 0) > (place.node_devices or 0)
    ):
        place = replace(place, fabric=assumptions.take(defaults.FABRICS[source]))
    return place


def _optimizer(run: MeasuredRun, assumptions: Assumptions) -> Optimizer:
    if run.precision.startswith(PURE):
        return Optimizer.ADAMW_16BIT
    if run.optimizer:
        name = run.optimizer
        if name not in set(Optimizer):
            raise NotCovered(f"optimizer '{name}' is not covered")
        return Optimizer(name)
    images = reads_images(run)
    return assumptions.take(defaults.MOMENTUM if images else defaults.ADAM)


def _software(run: MeasuredRun, precision: Precision, assumptions: Assumptions) -> Software:
    pictures = reads_images(run)
    return replace(
        software_of(run),
        relays=pictures and relays(run, precision),
        compiled=pictures and bool(run.stack.compiled),
        whole=pictures and sees_all(run),
        execution=execution_of(run, assumptions),
        graphs=bool(run.stack.graphs),
        overlaps=overlaps_products(run),
        grouped=groups_experts(run),
        once=sends_once(run),
        late=not pictures and reduces_late(run),
        kernel=run.stack.attention,
    )


def _require_whole_training(run: MeasuredRun, assumptions: Assumptions) -> None:
    task = assumptions.fill(run.task or None, defaults.WHOLE_TRAINING)
    if not task.startswith(TASKS):
        raise NotCovered(f"task '{task}' is not covered")


def _one_micro_batch(run: MeasuredRun) -> MeasuredRun:
    """One sample on one stage: a share of activations is the same for any number of them."""
    layout = replace(run.layout, data=1, pipeline=1, interleaving=1, micro_batch=1.0)
    place = replace(run.place, devices=run.layout.tensor, node_devices=run.layout.tensor)
    return replace(run, layout=layout, place=place, global_batch=1)
