"""Inputs: how the members of a run get their samples, from one stream or each on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from foretrain.errors import ForetrainError
from foretrain.measured.ensemble_study import OnError, Recipe
from foretrain.run.members.code import function
from foretrain.run.members.home import Loaded
from foretrain.run.members.looks import StreamNow
from foretrain.run.members.private import PrivateLoader
from foretrain.run.members.setting import Setting
from foretrain.run.members.trainee import on_device
from foretrain.run.stream.attach import attach
from foretrain.run.stream.order import Order
from foretrain.run.stream.share import Stream, serve_source

Loader = Any
"""What `attach` returns, or a `PrivateLoader`: batches of one epoch after the other."""

Stats = Mapping[str, Any]
"""What a stream says of itself."""


def stream(setting: Setting, recipes: Sequence[Recipe], *, name: str, ends: int) -> Stream:
    """One stream for some members, up to an epoch."""
    study, facts = setting.study, setting.home.facts
    return serve_source(
        partial(setting.home.template, memory=int(study.memory)),
        facts,
        name=name,
        workers=max(1, setting.way.workers),
        shuffle=None if facts.is_fed else study.shuffle,
        seed=study.seed,
        epochs=min(ends, max(each.epochs for each in recipes)),
        readers=len(recipes),
        memory=int(study.memory),
        on_error=study.on_error.value,
    )


def opens(
    loaded: Loaded, recipe: Recipe, state: dict[str, Any] | None, *, reads: str | None
) -> AbstractContextManager[Loader]:
    """The loader of a member, at the place of its state.

    Args:
        loaded: the study.
        recipe: of the member.
        state: where it goes on; nothing for the beginning.
        reads: name of the stream that it reads; nothing where it prepares its samples itself.
    """
    if reads is None:
        return _private(loaded, recipe, state)
    return attach(
        reads,
        batch_size=None if loaded.source.whole else recipe.batch,
        private=_own(loaded, recipe),
        model=recipe.name,
        policy=recipe.lag.value,
        state=state,
    )


def _private(
    loaded: Loaded, recipe: Recipe, state: dict[str, Any] | None
) -> AbstractContextManager[Loader]:
    """A loader that the member has to itself."""
    study, source = loaded.study, loaded.source
    order = Order(samples=source.samples, epochs=None, shuffle=study.shuffle, seed=study.seed)
    loader = PrivateLoader(
        source,
        order,
        member=recipe.name,
        batch_size=recipe.batch,
        private=_own(loaded, recipe),
        skip=study.on_error is OnError.SKIP,
    )
    if state is not None:
        loader.load_state_dict(state)
    return loader


def _own(loaded: Loaded, recipe: Recipe) -> Callable[[Any], Any] | None:
    """The member's own transform, on the member's device."""
    if recipe.private is None:
        return None
    return on_device(function(recipe.private, loaded.study.folder), recipe.device)


def stats_of(stream: Stream | None) -> Stats | None:
    """What the stream says of itself; None without one, or where it is gone, as members tell."""
    try:
        return stream.stats() if stream is not None else None
    except ForetrainError:
        return None


def counted(stats: Stats | None, *, workers: int) -> StreamNow | None:
    """What looks remember of a stream."""
    if stats is None:
        return None
    fill = stats["fill"] - (stats["head"] - stats["published"]) / max(1, stats["slots"])
    fill = min(1.0, max(0.0, fill))
    spent = {stage: stats["worker_seconds"][stage] for stage in ("read", "transform", "store")}
    return StreamNow(**spent, workers=workers, fill=fill)


def lag_of(stats: Stats | None, name: str) -> int:
    """Samples that are ready and that a member has not taken."""
    reader = stats["readers"].get(name) if stats else None
    return int(reader["lag"]) if reader else 0
