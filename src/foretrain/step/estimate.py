"""estimate: how long is a step of one plan, and what does it take?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from math import prod
from typing import Any, Unpack, overload

import numpy as np

from foretrain.cluster.cluster import Cluster, cost
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import About, InputError, Remark, of
from foretrain.plan.choices import divisors
from foretrain.plan.legality import kind_problems, problems
from foretrain.plan.plan import AS_MADE, AXES, SAID, Plan, cuts_into, idle
from foretrain.plan.study import CollectiveStudy, Limit, Space, Study
from foretrain.plan.table import Column, Flags
from foretrain.step.alternatives import Weighed, in_the_middle
from foretrain.step.curve import CollectiveCurve, collective
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import Setting, setting
from foretrain.step.software import absent, habitual, open_fields, study_setting, unstated, weighed
from foretrain.study.coefficients import DEFAULT
from foretrain.study.spoken import PlainQuestion, asked
from foretrain.trainers.chosen import against, chosen_of


@overload
def estimate(
    study: CollectiveStudy, *, coefficients: Coefficients = DEFAULT
) -> CollectiveCurve: ...


@overload
def estimate(
    study: Study | None = None,
    *,
    coefficients: Coefficients = DEFAULT,
    played: bool = True,
    **question: Unpack[PlainQuestion],
) -> Estimate: ...


def estimate(
    study: Study | CollectiveStudy | None = None,
    *,
    coefficients: Coefficients = DEFAULT,
    played: bool = True,
    **question: Unpack[PlainQuestion],
) -> Estimate | CollectiveCurve:
    """Predict one step of the study's one plan, or of a model on some devices, or one collective.

    `estimate(model=net, devices="8x RTX3090", global_batch=64)` traces a `torch.nn.Module` and
    takes the largest micro-batch that fits; `sequence`, `image` or `example` say what a sample is.

    Args:
        study: of a collective, or with one value per field of the plan; `data` follows from the
            devices, other absent fields take the plan's neutral value and are named in the
            warnings.
        coefficients: how well hardware and software do.
        played: whether the event simulation checks the closed form.
        **question: in place of a study: `PlainQuestion` has the keys.

    Raises:
        InputError: the plan is not one plan, or cannot run on the cluster.
    """
    if study is None:
        return _of_question(question, coefficients, played=played)
    if isinstance(study, CollectiveStudy):
        return collective(study, coefficients=coefficients)
    if question:
        raise InputError("estimate: give a study, or model, devices and global_batch; not both.")
    told_by = _plain if study.trainer is None else _by_trainer
    one = told_by(study, coefficients)
    plan, quiet = one.plan, idle(one.plan, study.workload.model)
    idle_keys = {f"plan.{name}" for name in quiet}
    assumed = (*study.assumed, *one.assumed)
    of_idle = [each for each in of(assumed, About.ASSUMED) if each.key in idle_keys]
    told = tuple(text for text in assumed if text not in of_idle)
    answer = price_plan(one.setting, plan, assumed=told, played=played, job=study.job)
    if one.weighed is not None:
        answer = in_the_middle(answer, one.weighed, coefficients)
    said = {name: why for name, why in quiet.items() if _says(study, name)}
    warnings = (*answer.warnings, *_idly_set(plan, said), *_over_limits(study, answer))
    return replace(answer, warnings=warnings)


def _says(study: Study, name: str) -> bool:
    """Whether a field of the plan is the study's own word, not what its trainer does unasked."""
    chosen = chosen_of(study) if study.trainer is not None else None
    return chosen is None or name in chosen.stated or chosen.set_to(name) is not None


def _idly_set(plan: Plan, quiet: Mapping[str, str]) -> Iterator[str]:
    """What a plan says about idle fields beyond their neutral values."""
    for name, why in quiet.items():
        if getattr(plan, name) != getattr(Plan(), name):
            yield f"plan.{name} = {_shown(getattr(plan, name))} has no effect with {why}"


def _over_limits(study: Study, answer: Estimate) -> Iterator[str]:
    """What a search with the study's limits would have dropped the plan for."""
    limits = over_job_limits(
        study.limit,
        study.cluster,
        devices=np.array([float(answer.devices)]),
        seconds=np.array([answer.time_to_train], np.float64),
    )
    for reason, over in limits.items():
        if over[0]:
            yield f"the whole training is over the study's {reason}"
    if study.limit.memory is not None and answer.memory.total > study.limit.memory:
        yield "a device's memory is over the study's memory limit"


Over = dict[str, Flags]
"""Plans that break a limit, by its name. [plan]"""


def over_job_limits(limit: Limit, cluster: Cluster, *, devices: Column, seconds: Column) -> Over:
    """Which plans break each limit with the seconds of a whole job; nan breaks none. [plan]"""
    over: Over = {}
    if limit.deadline is not None:
        over["deadline"] = seconds > limit.deadline
    if limit.cost is not None:
        dollars = cost(cluster, seconds, devices=devices)
        if dollars is not None:
            over["cost limit"] = dollars > limit.cost
    return over


@dataclass(frozen=True, slots=True, kw_only=True)
class _One:
    """The one plan of a study.

    Attributes:
        setting: in which it is priced.
        plan: the plan, or the likeliest where its trainer leaves some of it open.
        assumed: what stands for what it does not say.
        weighed: the variants that it leaves open; None if there are none.
    """

    setting: Setting
    plan: Plan
    assumed: tuple[str, ...]
    weighed: Weighed | None = None


def _plain(study: Study, coefficients: Coefficients) -> _One:
    """The plan of a study that names no trainer.

    Raises:
        InputError: the plan is not one plan, or cannot run on the cluster.
    """
    plan, assumed = single_plan(study)
    if wrong := problems(study.workload, study.cluster, plan):
        raise InputError("\n".join(wrong))
    priced = setting(study.workload, study.cluster, coefficients)
    return _One(setting=priced, plan=plan, assumed=assumed)


def _by_trainer(study: Study, coefficients: Coefficients) -> _One:
    """The plan of a study that names its trainer, which says what the study does not.

    Raises:
        InputError: as above, or the trainer cannot run the plan.
    """
    chosen = chosen_of(study)
    assert chosen is not None, "a study without a trainer was taken for one with it"
    given = tuple(absent(study, chosen))
    filled = replace(unstated(study), **{name: (value,) for name, value, _ in given})
    plan, assumed = single_plan(replace(study, space=filled))
    if "sends" not in chosen.stated:
        plan = habitual(chosen, plan)
    wrong = [
        *problems(study.workload, study.cluster, plan),
        *against(chosen.trainer, plan),
    ]
    if wrong:
        raise InputError("\n".join(wrong))
    besides = open_fields(chosen)
    found = weighed(study, study.cluster, coefficients, plan=plan, besides=besides)
    priced = None if found is None else found.likeliest.setting
    return _One(
        setting=priced or study_setting(study, study.cluster, coefficients),
        plan=plan if found is None else found.likeliest.rung.plan,
        assumed=(*(remark for *_, remark in given), *assumed),
        weighed=found,
    )


MANY = 6
"""Choices of which a message shows the ends only."""


def _of_question(question: PlainQuestion, coefficients: Coefficients, *, played: bool) -> Estimate:
    """The estimate of a question: with the largest micro-batch that fits, where it names none."""
    study = asked(question)
    if study.space.micro_batch is not None:
        return estimate(study, coefficients=coefficients, played=played)
    samples, found = study.workload.global_batch, None
    for size in reversed(divisors(samples)):
        one = replace(study, space=replace(study.space, micro_batch=(size,)))
        if samples % (single_plan(one)[0].data * size) and size > 1:
            continue
        found = estimate(one, coefficients=coefficients, played=played)
        if found.fits:
            break
    assert found is not None, "a micro-batch of one sample was not tried"
    why = "the largest that fits" if found.fits else "and not even that fits"
    text = f"plan.micro_batch = {found.plan.micro_batch}, {why}"
    told = Remark(text, about=About.ASSUMED, key="plan.micro_batch")
    return replace(found, warnings=(told, *found.warnings))


QUIET = ("context", "shard", "recompute_layers", "offload_layers")
"""Fields whose absence nobody takes for a choice."""


def single_plan(study: Study) -> tuple[Plan, tuple[str, ...]]:
    """The one plan of a study, and what was assumed for absent fields.

    Raises:
        InputError: a field or the cluster leaves a choice, or `micro_batch` is missing.
    """
    space, wrong = study.space, []
    values: dict[str, Any] = {}
    # The stages decide which of the cuts that trainers make it is.
    made = {"cut"} if {*space.cut} <= {*AS_MADE} else set()
    for field in (each for each in fields(Space) if each.name not in made):
        choices = getattr(space, field.name)
        if choices is not None and len(choices) != 1:
            shown = ", ".join(map(_shown, choices))
            wrong.append(
                f"plan.{field.name}: has {len(choices)} choices ({shown}); give one value."
            )
        elif choices is not None:
            values[field.name] = choices[0]
    if space.micro_batch is None:
        wrong.append('plan.micro_batch: is missing; give one value, or use "foretrain search".')
    nodes = sorted({nodes for offer in study.offers for nodes in offer.nodes})
    names = dict.fromkeys(offer.cluster.name for offer in study.offers)
    for key, open_to in {"name": [*names], "nodes": [*map(str, nodes)]}.items():
        if len(open_to) > 1:
            few = open_to if len(open_to) < MANY else [*open_to[:2], "...", open_to[-1]]
            told = f"has {len(open_to)} choices ({', '.join(few)}); give one value."
            wrong.append(f"cluster.{key}: {told}")
    wrong += kind_problems(study)
    if wrong:
        raise InputError("\n".join(wrong))
    return _completed(study, values)


def _completed(study: Study, values: dict[str, Any]) -> tuple[Plan, tuple[str, ...]]:
    """Absent fields filled in: replicas take the devices that are left, the rest is neutral.

    Experts are divided like everything else unless each token has one member that sends it.
    """
    model = study.workload.model
    uneven = []
    if "cut" not in values:
        # The first cut by a rule that the stages allow; the first of all if there is none.
        stages = values.get("pipeline", 1)
        chunks = stages * values.get("interleaving", 1)
        able = (
            it
            for it in study.space.cut
            if cuts_into(it, model.cuttable_layers, pipeline=stages, chunks=chunks)
        )
        values["cut"] = next(able, study.space.cut[0])
        uneven = [f"plan.cut = {values['cut']}"] if values["cut"] != "even" else []
    others = prod(values.get(axis, 1) for axis in AXES if axis != "data")
    values.setdefault("data", max(1, study.cluster.devices // others))
    if model.experts and not values.get("sequence_parallel"):
        values.setdefault("expert_tensor", values.get("tensor", 1))
    plan = Plan(**values)
    known = {*values, *QUIET, *idle(plan, model)}
    absent = [name for name in SAID if name not in known]
    axes = " = ".join(f"plan.{name}" for name in absent if name in AXES)
    others = [f"plan.{n} = {_shown(getattr(plan, n))}" for n in absent if n not in AXES]
    return plan, (*([f"{axes} = 1"] if axes else []), *others, *uneven)


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return (" > " if isinstance(value[0], str) else "-").join(map(str, value))
    return value.name.lower() if isinstance(value, Enum) else str(value).lower()
