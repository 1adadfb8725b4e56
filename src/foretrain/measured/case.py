"""Cases: a measured run in the words of the nouns, ready to be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.measured import defaults, lore, recipe, tuning
from foretrain.measured.coverage import Assumptions, Default, NotCovered
from foretrain.measured.degrees import degrees_choices
from foretrain.measured.layout import batch_of, plans_of
from foretrain.measured.litgpt import completed, software_of
from foretrain.measured.network import model_of, reads_images
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.policies import Degrees, not_understood
from foretrain.measured.run import MeasuredRun, Place, Subject, TableKind
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.trainers.software import SHARED, Execution, Software
from foretrain.workload.gradients import CODECS, FP32, GradientCodec
from foretrain.workload.graph import Model
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

PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp16": Precision.FP16,
        "fp16 mixed": Precision.FP16,
        "fp16 amp": Precision.FP16,
        "fp16 storage": Precision.FP16,
        "amp": Precision.FP16,
        "bf16": Precision.BF16,
        "bf16 mixed": Precision.BF16,
        "bf16-true": Precision.BF16,
        "tf32": Precision.TF32,
        "fp32": Precision.FP32,
        "fp8": Precision.FP8,
        "fp8-cs": Precision.FP8,
        "fp8 (transformer engine hybrid), bf16-mixed": Precision.FP8,
        "fp8-mx": Precision.MXFP8,
        "mxfp8": Precision.MXFP8,
        "nvfp4": Precision.NVFP4,
    }
)
"""Current scaling (`fp8-cs`) has one scale per matrix, as delayed scaling has."""

PURE = "bf16-true"
"""Weights, gradients and moments all in bf16. Source: litgpt."""


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
        others: the same with other degrees, where a row leaves out more of them than follow from
            the number of devices.
    """

    workload: Workload
    cluster: Cluster
    plan: Plan
    heavier: tuple[Plan, ...] = ()
    assumed: tuple[str, ...]
    software: Software = SHARED
    others: tuple[Case, ...] = ()

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
        # One sample on one stage: a share of activations is the same for any number of them.
        layout = replace(run.layout, data=1, pipeline=1, interleaving=1, micro_batch=1.0)
        place = replace(run.place, devices=layout.tensor, node_devices=layout.tensor)
        run = replace(run, layout=layout, place=place, global_batch=1)
    if lore.BY_LITGPT.of(run):
        run = completed(run)
    assumptions = Assumptions()
    if not run.task:
        assumptions.note(defaults.WHOLE_TRAINING.words)
    elif not tuning.trains(run):
        raise NotCovered(f"task '{run.task}' is not covered")
    model = model_of(run, assumptions)
    cluster = cluster_of(_placed(run, assumptions), catalogue, assumptions)
    software = _software(run, _precision(run, cluster.device, assumptions), assumptions)
    choices = degrees_choices(run, model, cluster, assumptions=assumptions)
    for words in not_understood(run):
        assumptions.note(words)
    known = (model, cluster, software)
    cases = [_case(run, known, degrees, assumptions=assumptions) for degrees in choices]
    legal = [
        each for each in cases if not problems(each.workload, each.cluster, each.plan)
    ] or cases[:1]
    assumed = assumptions.words
    first, *others = (replace(each, assumed=assumed) for each in legal)
    return replace(first, others=tuple(others))


def _case(
    run: MeasuredRun,
    known: tuple[Model, Cluster, Software],
    degrees: Degrees,
    *,
    assumptions: Assumptions,
) -> Case:
    """A run with one choice of degrees."""
    model, cluster, software = known
    batch = batch_of(run, degrees, assumptions, tokens=model.tokens)
    plan, *heavier = plans_of(run, model, (degrees, batch), assumptions=assumptions)
    workload = Workload(
        model=model,
        global_batch=batch.step,
        precision=_precision(run, cluster.device, assumptions),
        optimizer=_optimizer(run, assumptions),
        gradients=_gradients(run, assumptions),
        master_copy=not (run.precision.startswith(PURE) or recipe.pure_of(run)),
    )
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
    place = run.place
    device, fabric = lore.DEVICES.of(run), lore.FABRICS.of(run)
    if device is not None and not place.device:
        place = replace(place, device=assumptions.take(device))
    several = (place.devices or 0) > (place.node_devices or 0)
    if fabric is not None and not place.fabric and several:
        place = replace(place, fabric=assumptions.take(fabric))
    return place


def _precision(run: MeasuredRun, device: Device, assumptions: Assumptions) -> Precision:
    """The precision that a row states, or the usual one of its device.

    Raises:
        NotCovered: a precision that foretrain does not know.
    """
    words = run.precision.lower().partition(" + ")[0]
    if not words:
        return assumptions.take(_usual_precision(run, device))
    if words not in PRECISIONS:
        raise NotCovered(f"precision '{run.precision}' is not covered")
    written = PRECISIONS[words]
    if written is Precision.FP16 and device.peak.fp16 is None:
        return assumptions.take(defaults.HALF_STORAGE)
    automatic = device.peak.tf32 is not None and lore.AUTOMATIC_TF32.of(run)
    if written is Precision.FP32 and automatic:
        return assumptions.take(defaults.TF32_AS_FP32)
    return written


def _usual_precision(run: MeasuredRun, device: Device) -> Default[Precision]:
    """The precision of a run that states none."""
    if run.subject is Subject.ACTIVATION_SHARE:
        return defaults.SIXTEEN_BIT
    if run.linear_precision == Precision.FP8:
        return defaults.FP8_OF_MLPERF
    if lore.SHARED_CODE.of(run) and not reads_images(run) and _eight_bits_pay(device):
        return defaults.FP8_OF_ROUNDS
    return defaults.HALF_FLOAT if device.peak.bf16 is None else defaults.BRAIN_FLOAT


PAYS = 1.5
"""Products of 8 bits are taken for granted in tuned code where they are so many times as quick."""


def _eight_bits_pay(device: Device) -> bool:
    narrow, wide = device.peak.fp8, device.peak.bf16
    return narrow is not None and wide is not None and narrow >= PAYS * wide


def _optimizer(run: MeasuredRun, assumptions: Assumptions) -> Optimizer:
    if recipe.EIGHT_BIT.search(run.notes):
        return Optimizer.ADAMW_8BIT
    if run.precision.startswith(PURE) or recipe.pure_of(run):
        return Optimizer.ADAMW_16BIT
    if run.optimizer:
        name = run.optimizer
        if name not in set(Optimizer):
            raise NotCovered(f"optimizer '{name}' is not covered")
        return Optimizer(name)
    return assumptions.take(defaults.MOMENTUM if reads_images(run) else defaults.ADAM)


def _gradients(run: MeasuredRun, assumptions: Assumptions) -> GradientCodec:
    """How gradients are held and sent; in fp32 where nothing else is known."""
    if run.precision.startswith(PURE) or recipe.pure_of(run):
        return CODECS["bf16"]
    known = lore.GRADIENTS.of(run)
    return FP32 if known is None else assumptions.take(known)


def _software(run: MeasuredRun, precision: Precision, assumptions: Assumptions) -> Software:
    pictures = reads_images(run)
    execution = lore.EXECUTION.of(run)
    if execution is None:
        execution = assumptions.take(defaults.EAGER_SOFTWARE)
    elif execution is Execution.EAGER and run.stack.compiled:
        execution = Execution.GRAPH
    return replace(
        software_of(run),
        phased=recipe.LIBRARIES.of(run),
        stepwise=bool(recipe.STEPWISE.search(run.notes)),
        fused_update=recipe.FUSED_UPDATE.of(run),
        relays=pictures and precision not in lore.CHANNELS_LAST.of(run),
        compiled=pictures and bool(run.stack.compiled),
        whole=pictures and lore.WHOLE.of(run),
        execution=execution,
        graphs=bool(run.stack.graphs),
        overlaps=lore.HABITS.of(run).overlaps,
        grouped=lore.GROUPED.of(run),
        once=lore.ONCE.of(run),
        late=not pictures and lore.LATE.of(run),
        kernel=run.stack.attention,
    )
