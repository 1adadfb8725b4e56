"""Rows that leave out how a model was divided, by the recipe that its trainer's makers publish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from foretrain.measured.coverage import Assumptions
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.recipes import PublishedPlan, nearest
from foretrain.workload.library.entries import known

DEGREES = ("tensor", "pipeline", "interleaving", "context", "expert", "micro_batch")

STAGES = {"none": 0, "optimizer": 1, "parameters": 3}
"""Stages of ZeRO by what a recipe shards."""


def by_recipe(
    run: MeasuredRun, assumptions: Assumptions, recipes: Iterable[PublishedPlan]
) -> MeasuredRun:
    """The row with what a recipe of its trainer says where it says nothing itself.

    A recipe counts that contradicts nothing of the row and gives every replica a whole share of its
    batch; nothing is filled in where there is none.
    """
    count, layout, model = run.place.devices, run.layout, known(run.network.name)
    if (
        not count
        or model is None
        or count == 1
        or all(getattr(layout, name) is not None for name in DEGREES)
    ):
        return run
    adapts = "lora" in run.task.lower()
    found = nearest(
        (
            each
            for each in recipes
            if each.family == assumptions.trainer.family
            and (each.model, each.sequence) == (model.name, run.network.sequence)
            and each.adapts == adapts
            and each.was_out(run.date)
            and each.suits(run.place.device, count)
            and _agrees(run, each, count)
        ),
        count=count,
        precision=run.precision,
    )
    if found is None:
        return run
    assumptions.note(f"its plan as the recipe for {found.count:,} devices has it ({found.release})")
    silent = layout.zero_stage is None and not layout.sharding
    stage = STAGES.get(found.sharding) if silent else layout.zero_stage
    stated = {name: getattr(layout, name) for name in DEGREES}
    filled = {name: getattr(found, name) if held is None else held for name, held in stated.items()}
    return replace(
        run,
        layout=replace(
            layout,
            **filled,
            data=layout.data or count // found.stationed,
            recompute=layout.recompute or found.recompute,
            zero_stage=stage,
        ),
    )


def _agrees(run: MeasuredRun, recipe: PublishedPlan, count: int) -> bool:
    """Whether a recipe contradicts nothing that a row states."""
    layout, replicas = run.layout, count // recipe.stationed
    told = all(getattr(layout, name) in (None, getattr(recipe, name)) for name in DEGREES)
    passes, rest = divmod(run.global_batch or 0, replicas * recipe.micro_batch)
    divided = run.global_batch is None or (not rest and layout.accumulation in (None, passes))
    return told and layout.data in (None, replicas) and divided
