"""Cases: a measured run in the words of the nouns, ready to be predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.measured import defaults, lore, recipe, tuning
from foretrain.measured.coverage import Assumptions, Default, NotCovered, circumstances_of
from foretrain.measured.degrees import Degrees, degrees_choices, not_understood
from foretrain.measured.lore import completed, software_of
from foretrain.measured.network import batch_of, model_of, plans_of, reads_images
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.recipe import by_recipe
from foretrain.measured.run import MeasuredRun, Place, Subject, TableKind
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.trainers.software import SHARED, Execution, Software
from foretrain.trainers.trainer import ANY, recognised
from foretrain.trainers.variants import Opened, Variant, accustomed
from foretrain.units import years
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
        "fp8-cs": Precision.FP8_CURRENT,
        "fp8 (transformer engine hybrid), bf16-mixed": Precision.FP8,
        "fp8-mx": Precision.MXFP8,
        "mxfp8": Precision.MXFP8,
        "nvfp4": Precision.NVFP4,
    }
)
"""Words of precisions; `fp8-cs` is current scaling."""

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
        trainer: name of the trainer's entry.
        opened: options of the trainer that the source leaves open, with what they may have been.
        otherwise: the same of options that would rather be as nobody sets them, for a run that ran
            though nothing else fits.
        prints_allocated: whether the memory that it prints is what the allocator handed out.
        others: the same with other degrees, where a row leaves out more of them than follow from
            the number of devices.
    """

    workload: Workload
    cluster: Cluster
    plan: Plan
    heavier: tuple[Plan, ...] = ()
    assumed: tuple[str, ...]
    software: Software = SHARED
    trainer: str = ANY.name
    opened: Opened = ()
    otherwise: Opened = ()
    prints_allocated: bool = False
    others: tuple[Case, ...] = ()

    @property
    def plausible(self) -> tuple[Plan, ...]:
        """Every plan that may be meant, the lightest first."""
        return self.plan, *self.heavier

    @property
    def variant(self) -> Variant:
        """What is taken to be known, of which open options make variants."""
        return Variant(workload=self.workload, plans=self.plausible, software=self.software)


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
        # One sample on one stage: a share of activations is the same for any number of
        # them.
        layout = replace(run.layout, data=1, pipeline=1, interleaving=1, micro_batch=1.0)
        place = replace(run.place, devices=layout.tensor, node_devices=layout.tensor)
        run = replace(run, layout=layout, place=place, global_batch=1)
    if lore.BY_LITGPT.of(run):
        run = completed(run)
    at = circumstances_of(run)
    assumptions = Assumptions(recognised(at, catalogue.trainers()), at)
    if not run.task:
        assumptions.note(defaults.WHOLE_TRAINING.words)
    elif not tuning.trains(run):
        raise NotCovered(f"task '{run.task}' is not covered")
    model = model_of(run, assumptions)
    run = by_recipe(run, assumptions, catalogue.recipes())
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
        master_copy=not _pure(run),
    )
    return Case(
        workload=workload,
        cluster=cluster,
        plan=plan,
        heavier=tuple(heavier),
        assumed=assumptions.words,
        software=software,
        trainer=assumptions.trainer.name,
        opened=assumptions.opened(),
        otherwise=assumptions.opened(freely=True),
        prints_allocated=assumptions.trainer.habit("prints_memory") is not None
        and assumptions.of("prints_memory").value == "allocated",
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
    automatic = device.peak.tf32 is not None and assumptions.of("tf32").value
    if written is Precision.FP32 and automatic:
        assumptions.unset("tf32")
        return Precision.TF32
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


def _pure(run: MeasuredRun) -> bool:
    """Whether weights, gradients and moments have 16 bits throughout."""
    narrow = run.precision.startswith(PURE) or recipe.pure_of(run)
    return narrow and not recipe.upcast_of(run, adapts=tuning.adapts(run))


def _optimizer(run: MeasuredRun, assumptions: Assumptions) -> Optimizer:
    if recipe.EIGHT_BIT.search(run.notes):
        return Optimizer.ADAMW_8BIT
    if _pure(run):
        return Optimizer.ADAMW_16BIT
    if run.optimizer:
        name = run.optimizer
        if name not in set(Optimizer):
            raise NotCovered(f"optimizer '{name}' is not covered")
        return Optimizer(name)
    return assumptions.take(defaults.MOMENTUM if reads_images(run) else defaults.ADAM)


def _gradients(run: MeasuredRun, assumptions: Assumptions) -> GradientCodec:
    """How gradients are held and sent; in fp32 where nothing else is known."""
    if _pure(run):
        return CODECS["bf16"]
    known: GradientCodec = assumptions.of("gradients").value
    if known != FP32:
        assumptions.unset("gradients")
    return known


def _software(run: MeasuredRun, precision: Precision, assumptions: Assumptions) -> Software:
    pictures = reads_images(run)
    execution = assumptions.of("execution").value
    if not assumptions.trainer.recognised:
        assumptions.unset("execution")
    elif execution in (Execution.EAGER, Execution.GRAPH) and run.stack.compiled:
        execution = Execution.COMPILED
    known = accustomed(software_of(run, assumptions), assumptions.trainer, assumptions.at)
    # Whether kernels are started as graphs.
    usual: bool = assumptions.of("cuda_graphs").value
    return replace(
        known,
        built=years(run.date) if known.built is None else known.built,
        family=assumptions.trainer.family if assumptions.trainer.recognised else "",
        phased=recipe.LIBRARIES.of(run),
        stepwise=bool(recipe.STEPWISE.search(run.notes)),
        fused_update=recipe.FUSED_UPDATE.of(run),
        keeps=tuning.keeps_of(run),
        wide_parameters=recipe.upcast_of(run, adapts=tuning.adapts(run)),
        relays=pictures and precision not in assumptions.of("channels_last").value,
        compiled=pictures and bool(run.stack.compiled),
        whole=pictures and assumptions.of("program").value,
        execution=execution,
        graphs=usual if run.stack.graphs is None else run.stack.graphs,
        interpreted=assumptions.of("host").value,
        overlaps=assumptions.of("user_buffers").value,
        grouped=assumptions.of("expert_products").value,
        once=assumptions.of("dispatcher").value,
        late=not pictures and not assumptions.of("overlap_gradients").value,
        gathers_beside=assumptions.of("overlap_parameters").value,
        kernel=run.stack.attention,
    )
