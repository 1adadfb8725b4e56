"""Recipes of the catalogue: plans that trainers' makers publish (CSV), from text to nouns."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Final

from foretrain.plan.plan import Plan
from foretrain.trainers.recipes import PublishedPlan

COUNTS: Final = (
    *("tensor", "pipeline", "interleaving", "context", "expert", "micro_batch", "global_batch"),
    "sequence",
)


@cache
def recipes() -> tuple[PublishedPlan, ...]:
    """Every published recipe for a model of the library, those of a release after earlier ones.

    Source: the recipes of Megatron-Bridge 0.2 to 0.5, of NeMo 1 and 2 and of NVIDIA's submissions
    to MLPerf 3.0 to 5.1, each with its file.
    """
    text = (files("foretrain") / "trainers" / "catalogue" / "recipes.csv").read_text("utf-8")
    return tuple(_recipe(row) for row in csv.DictReader(text.splitlines()))


AXES: Final = ("tensor", "pipeline", "context", "expert")
"""Degrees by which a plan is one that people run; the data axis has what is left."""


@cache
def _degrees() -> frozenset[tuple[int, ...]]:
    """Of every recipe."""
    return frozenset(tuple(getattr(each, axis) for axis in AXES) for each in recipes())


def practised(plan: Plan) -> bool:
    """Whether some published recipe divides a model as a plan does, replicas apart."""
    return tuple(getattr(plan, axis) for axis in AXES) in _degrees()


def _recipe(row: dict[str, str]) -> PublishedPlan:
    return PublishedPlan(
        family=row["family"],
        release=row["release"],
        date=row["date"],
        model=row["model"],
        adapts=row["task"] == "lora",
        devices=tuple(tuple(words.split()) for words in row["device"].split("|")),
        count=int(row["devices"]),
        **{name: int(row[name]) for name in COUNTS},
        precision=row["precision"],
        recompute=row["recompute"],
        sharding=row["sharding"],
        source=row["source"],
    )
