"""Pinned: the question of a study about one plan of it."""

from __future__ import annotations

from dataclasses import fields, replace

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan
from foretrain.plan.study import Space, Study
from foretrain.trainers.chosen import chosen_of


def pinned(study: Study, plan: Plan, cluster: Cluster) -> Study:
    """The same question of one plan on one cluster, of which every field is stated.

    Args:
        study: the question.
        plan: the plan; its trainer leaves nothing of it open.
        cluster: with as many devices as the plan uses.
    """
    chosen = chosen_of(study)
    names = tuple(each.name for each in fields(Space))
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
