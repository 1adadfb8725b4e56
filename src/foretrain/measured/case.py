"""Cases: a measured run in the words of the nouns, ready to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.cluster.cluster import Cluster
from foretrain.measured import defaults
from foretrain.measured.batch import batch_of
from foretrain.measured.coverage import Assumptions, NotCovered
from foretrain.measured.degrees import degrees_of
from foretrain.measured.layout import plans_of
from foretrain.measured.network import model_of
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.precision import precision_of
from foretrain.measured.run import MeasuredRun, Subject, Table
from foretrain.plan.plan import Plan
from foretrain.workload.workload import Optimizer, Workload

TABLES = frozenset({Table.LLM_TRAINING, Table.CNN_TRAINING, Table.MEMORY})

TASKS = (
    "pretrain",
    "train",
    "fine-tune",
    "SFT",
    "LoRA",
    "classification",
    "detection",
    "segmentation",
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
    """

    workload: Workload
    cluster: Cluster
    plan: Plan
    heavier: tuple[Plan, ...] = ()
    assumed: tuple[str, ...]


def case_of(run: MeasuredRun, catalogue: Catalogue) -> Case:
    """A run in the words of the nouns.

    Raises:
        NotCovered: foretrain does not predict such a run, or a blank must not be guessed.
        InputError: the row contradicts itself.
    """
    if run.table not in TABLES:
        raise NotCovered(f"tables of kind {run.table} are not covered")
    if run.subject is Subject.ACTIVATION_SHARE:
        run = _one_micro_batch(run)
    assumptions = Assumptions()
    _require_whole_training(run, assumptions)
    model = model_of(run, assumptions)
    cluster = cluster_of(run.place, catalogue, assumptions)
    degrees = degrees_of(run, model, assumptions)
    batch = batch_of(run, degrees, assumptions)
    plan, *heavier = plans_of(run, model, (degrees, batch), assumptions=assumptions)
    workload = Workload(
        model=model,
        global_batch=batch.step,
        precision=precision_of(run, cluster.device, assumptions),
        optimizer=_optimizer(run, assumptions),
    )
    return Case(
        workload=workload,
        cluster=cluster,
        plan=plan,
        heavier=tuple(heavier),
        assumed=assumptions.words,
    )


def _optimizer(run: MeasuredRun, assumptions: Assumptions) -> Optimizer:
    if "muon optimizer" in run.notes.lower():
        return Optimizer.MUON
    images = run.table is Table.CNN_TRAINING
    return assumptions.take(defaults.MOMENTUM if images else defaults.ADAM)


def _require_whole_training(run: MeasuredRun, assumptions: Assumptions) -> None:
    task = assumptions.fill(run.task or None, defaults.WHOLE_TRAINING)
    if not task.startswith(TASKS):
        raise NotCovered(f"task '{task}' is not covered")


def _one_micro_batch(run: MeasuredRun) -> MeasuredRun:
    """One sample on one stage: a share of activations is the same for any number of them."""
    layout = replace(run.layout, data=1, pipeline=1, interleaving=1, micro_batch=1.0)
    place = replace(run.place, devices=run.layout.tensor, node_devices=run.layout.tensor)
    return replace(run, layout=layout, place=place, global_batch=1)
