"""Cases: a measured run in the words of the nouns, ready to be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.layout import plan_of
from foretrain.measured.network import model_of
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.run import MeasuredRun, Subject, Table
from foretrain.plan.plan import Plan
from foretrain.workload.workload import Precision, Workload

TABLES = frozenset({Table.LLM_TRAINING, Table.CNN_TRAINING, Table.MEMORY})

PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp16": Precision.FP16,
        "fp16 mixed": Precision.FP16,
        "fp16 amp": Precision.FP16,
        "amp": Precision.FP16,
        "bf16": Precision.BF16,
        "bf16 mixed": Precision.BF16,
        "tf32": Precision.TF32,
        "fp32": Precision.FP32,
    }
)
TASKS = ("pretrain", "train", "classification")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a run learned, where and how, and every default that stands for a blank."""

    workload: Workload
    cluster: Cluster
    plan: Plan
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
    model = model_of(run.network, run.table, assumptions)
    precision = _precision(run, assumptions)
    cluster = cluster_of(run.place, catalogue, assumptions)
    plan = plan_of(run, assumptions)
    images = run.table is Table.CNN_TRAINING
    workload = Workload(
        model=model,
        global_batch=stated(run.global_batch, "global batch"),
        precision=precision,
        optimizer=assumptions.take(defaults.MOMENTUM if images else defaults.ADAM),
    )
    return Case(workload=workload, cluster=cluster, plan=plan, assumed=assumptions.words)


def _require_whole_training(run: MeasuredRun, assumptions: Assumptions) -> None:
    task = assumptions.fill(run.task or None, defaults.WHOLE_TRAINING)
    if not task.startswith(TASKS):
        raise NotCovered(f"task '{task}' is not covered")


def _one_micro_batch(run: MeasuredRun) -> MeasuredRun:
    """One sample on one stage: a share of activations is the same for any number of them."""
    layout = replace(run.layout, data=1, pipeline=1, interleaving=1, micro_batch=1.0)
    place = replace(run.place, devices=run.layout.tensor, node_devices=run.layout.tensor)
    return replace(run, layout=layout, place=place, global_batch=1)


def _precision(run: MeasuredRun, assumptions: Assumptions) -> Precision:
    if not run.precision and run.subject is Subject.ACTIVATION_SHARE:
        return assumptions.take(defaults.SIXTEEN_BIT)
    words = stated(run.precision or None, "precision")
    if words not in PRECISIONS:
        raise NotCovered(f"precision '{words}' is not covered")
    return PRECISIONS[words]
