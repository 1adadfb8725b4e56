"""The software of a study: what its trainer does where the study leaves it open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import About, Remark
from foretrain.plan.plan import Plan, Sends
from foretrain.plan.study import Space, Study
from foretrain.step.alternatives import Weighed, in_the_middle, weigh
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, setting
from foretrain.trainers.chosen import Chosen, against, chosen_of
from foretrain.trainers.software import SHARED, Software
from foretrain.trainers.trainer import Circumstances
from foretrain.trainers.variants import Variant, opened, usual, variants, with_option
from foretrain.trainers.vocabulary import HABITS, OPTIONS

PLANNED: Final = ("attention", "sequence_parallel", "sharding", "interleaving", "recompute")
"""Options that are fields of a plan, which a search chooses itself."""

DRIVEN: Final = (
    "execution",
    "cuda_graphs",
    "overlap_gradients",
    "overlap_parameters",
    "user_buffers",
    "dispatcher",
    "expert_products",
    "channels_last",
)
"""Options that no field of a plan or a workload says."""


def study_setting(study: Study, cluster: Cluster, coefficients: Coefficients) -> Setting:
    """What every plan of a study is priced in, by its trainer where it names one.

    Raises:
        InputError: the device does not compute in the workload's precision.
        MissingCoefficient: no run of such a model was fitted to.
    """
    software = software_of(study, cluster)
    return setting(study.workload, cluster, coefficients, software=software)


def software_of(study: Study, cluster: Cluster) -> Software:
    """What the trainer of a study does when nobody sets it; what is set counts."""
    if study.trainer is None:
        return SHARED
    chosen = chosen_of(study)
    assert chosen is not None
    return _driven(study, chosen, cluster, plan=Plan()).software


def circumstances(study: Study, chosen: Chosen, cluster: Cluster) -> Circumstances:
    """What is known of a study that entries of trainers may ask for."""
    return Circumstances(
        framework=chosen.trainer.family.lower(),
        model=study.workload.model.name,
        device=cluster.device.name,
        precision=study.workload.precision.value,
        container=chosen.trainer.container,
        date=chosen.trainer.date,
    )


def _driven(study: Study, chosen: Chosen, cluster: Cluster, *, plan: Plan) -> Variant:
    """The likeliest variant of a plan: options as they are set, or when nobody sets them."""
    at = circumstances(study, chosen, cluster)
    software = replace(SHARED, family=chosen.trainer.family)
    known = Variant(workload=study.workload, plans=(plan,), software=software)
    known = usual(chosen.trainer, known, at, names=DRIVEN)
    for name, value in chosen.options:
        if name in DRIVEN:
            known = with_option(known, name, value)
    return known


def weighed(
    study: Study,
    cluster: Cluster,
    coefficients: Coefficients,
    *,
    plan: Plan,
    besides: tuple[str, ...] = (),
) -> Weighed | None:
    """The variants of a plan by what its trainer leaves open; None if nothing is open.

    Args:
        study: workload and trainer.
        cluster: where.
        coefficients: how well.
        plan: the plan.
        besides: its fields that are open too.
    """
    chosen = chosen_of(study)
    if chosen is None:
        return None
    names = (*besides, *DRIVEN, "gradients")
    free = tuple(
        name for name in names if chosen.set_to(name) is None and name not in chosen.stated
    )
    at = circumstances(study, chosen, cluster)
    found = opened(chosen.trainer, free, at, freely=True)
    if not found:
        return None
    known = _driven(study, chosen, cluster, plan=plan)
    trainer = chosen.trainer
    return weigh(
        variants(known, found), cluster, coefficients, against=lambda each: against(trainer, each)
    )


def moved(
    study: Study, cluster: Cluster, coefficients: Coefficients, *, estimate: Estimate
) -> Estimate:
    """The estimate of a plan that a search shows, amid what its trainer leaves open."""
    found = weighed(study, cluster, coefficients, plan=estimate.plan)
    return estimate if found is None else in_the_middle(estimate, found, coefficients)


def habitual(chosen: Chosen, plan: Plan) -> Plan:
    """A plan whose stages send as the trainer does."""
    habit = chosen.trainer.habit("sends")
    if habit is None or plan.pipeline == 1:
        return plan
    sends: Sends = HABITS["sends"].values[habit.lines[0].value].value[plan.interleaving > 1]
    return replace(plan, sends=sends)


def open_fields(chosen: Chosen) -> tuple[str, ...]:
    """Fields of a plan that a study leaves to its trainer."""
    return tuple(
        name for name in PLANNED if name not in chosen.stated and chosen.set_to(name) is None
    )


def unstated(study: Study) -> Space:
    """The space of a study without choices that it does not state, narrowed to the trainer's."""
    chosen = chosen_of(study)
    if chosen is None:
        return study.space
    several: dict[str, Any] = {
        each.name: None
        for each in fields(Space)
        # Which of its cuts it is, the stages decide.
        if each.name not in (*chosen.stated, "cut")
        and len(getattr(study.space, each.name) or ()) > 1
    }
    return replace(study.space, **several)


def absent(study: Study, chosen: Chosen) -> Iterator[tuple[str, Any, Remark]]:
    """Fields of a plan that a study leaves to its trainer, what they then are, and that in words.

    What recomputation is needed follows from what fits, and is left to the variants.
    """
    at = circumstances(study, chosen, study.cluster)
    for name in PLANNED:
        option = chosen.trainer.option(name)
        line = None if option is None else option.at(at)
        if name not in open_fields(chosen) or line is None:
            continue
        value = OPTIONS[name].values[line.value].value
        if name == "interleaving" or (name == "recompute" and len(value) > 1):
            continue
        if name == "recompute":
            value = value[0][0]
        elif name == "attention":
            value = value[0]
        text = f"plan.{name} = {line.value} (when nobody sets it, {chosen.name})"
        yield name, value, Remark(text, about=About.ASSUMED, key=f"plan.{name}")
