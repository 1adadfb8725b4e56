"""Pinned: the question of a study about one plan of it."""

from __future__ import annotations

from dataclasses import fields, replace

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan
from foretrain.plan.study import FIXED, Space, Study
from foretrain.step.software import open_fields
from foretrain.trainers.chosen import chosen_of


def pinned(study: Study, plan: Plan, cluster: Cluster, *, free: tuple[str, ...] = ()) -> Study:
    """The same question of one plan on one cluster.

    Args:
        study: the question.
        plan: the plan.
        cluster: with as many devices as the plan uses.
        free: fields of the plan that are left to the study's trainer.
    """
    chosen = chosen_of(study)
    names = tuple(each.name for each in fields(Space) if each.name not in free)
    if chosen is not None:
        chosen = replace(chosen, stated=tuple(dict.fromkeys((*chosen.stated, *names))))
    return replace(
        study,
        space=Space(**{name: (getattr(plan, name),) for name in names}),
        cluster=cluster,
        trainer=chosen,
        offers=(),
        maximise=None,
        scenarios=(),
    )


def gives_one(study: Study) -> bool:
    """Whether a study gives one plan, as `estimate` takes it."""
    said = {each.name: getattr(study.space, each.name) for each in fields(Space)}
    # What nobody says of some fields is several choices, of which `estimate` takes one.
    many = any(
        some is not None and len(some) > 1 and some != FIXED.get(name)
        for name, some in said.items()
    )
    return study.space.micro_batch is not None and not many and not study.offers


def left_open(study: Study) -> tuple[str, ...]:
    """Fields of a study's one plan that it leaves to its trainer."""
    chosen = chosen_of(study)
    return () if chosen is None else open_fields(chosen)


def turned(study: Study, plans: tuple[Plan, Plan], cluster: Cluster) -> Study:
    """A pinned study of another plan: what its trainer was left and does not differ, it still is.

    Args:
        study: of the first plan.
        plans: before and after.
        cluster: of the second.
    """
    before, after = plans
    same = (name for name in left_open(study) if getattr(before, name) == getattr(after, name))
    return pinned(study, after, cluster, free=tuple(same))
