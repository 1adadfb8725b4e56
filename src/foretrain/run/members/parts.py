"""Parts of a run: who trains at once, and up to which epoch, before members are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretrain.ensemble.halving import Halving
from foretrain.ensemble.terms import Terms
from foretrain.ensemble.waves import Wave, first_fit_decreasing, waves
from foretrain.measured.ensemble_study import EnsembleStudy, Recipe
from foretrain.measured.members import Ensemble, Member
from foretrain.measured.probed import Probed


def comparisons(study: EnsembleStudy) -> Halving | None:
    """When members are compared; None where all train to their end.

    The first comparison comes after the epochs that the study says, each further one after eta
    times as many.

    Source: jamieson2016, algorithm 1.
    """
    if study.halving is None:
        return None
    rungs, rung = [], study.halving.first
    while rung < study.epochs:
        rungs.append(float(rung))
        rung *= study.halving.eta
    return Halving(rungs=tuple(rungs), eta=study.halving.eta) if rungs else None


def together(
    recipes: Sequence[Recipe], probed: Probed, *, devices: int, memory: float
) -> tuple[Mapping[str, int], ...]:
    """Members that train at the same time, one group after another where not all have room.

    Args:
        recipes: who is to train.
        probed: what each holds.
        devices: GPUs on which they train; 0 for the cores of the host, which all share.
        memory: bytes of a device that they may fill; of the host where they train on its cores.

    Returns:
        The device of each member of each group; 0 on the host.

    Raises:
        InputError: a member does not fit alone.
    """
    count = max(1, devices)
    ensemble = Ensemble(
        members=tuple(_member(each, probed) for each in recipes),
        samples=probed.sample.count or 1,
        devices=count,
        devices_per_node=count,
        memory=memory,
    )
    if devices:
        return tuple(_places(wave) for wave in waves(Terms(ensemble=ensemble)).waves)
    held = {place: probed.members[each.name].memory for place, each in enumerate(recipes)}
    groups = first_fit_decreasing(held, memory)
    return tuple({recipes[place].name: 0 for place in sorted(group)} for group in groups)


def _places(wave: Wave) -> Mapping[str, int]:
    """The device of each member of a wave."""
    return {name: place for place, names in enumerate(wave.devices) for name in names}


def threads(members: int, cores: int) -> int:
    """Threads with which each of so many members computes: all cores, dealt out evenly."""
    return max(1, cores // members)


def _member(recipe: Recipe, probed: Probed) -> Member:
    costs = probed.members[recipe.name]
    on_device = costs.device_memory > 0
    return Member(
        name=recipe.name,
        batch=recipe.batch,
        epochs=float(recipe.epochs),
        rates=(costs.rate,),
        memory=costs.device_memory if on_device else costs.memory,
    )
