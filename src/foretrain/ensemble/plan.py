"""The plan of an ensemble: what is known, how samples come, who trains when, what it will take."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.ensemble.one_node import Forecast, Trains, forecast, on_one_node
from foretrain.ensemble.run.launch import comparisons, together
from foretrain.ensemble.run.machine import gpus, memory_free
from foretrain.ensemble.sharing import SharingChoice, loading
from foretrain.measured.ensemble_study import EnsembleStudy, Probed


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An ensemble that could begin now.

    Attributes:
        probed: what is known of samples and members.
        choice: how samples come, and why.
        parts: who trains together, one after the other.
        forecast: what that takes.
        memory: bytes of a device, or of the host, that members may fill.
        devices: GPUs that members may be put on; 0 for the host's cores.
    """

    probed: Probed
    choice: SharingChoice
    parts: tuple[Trains, ...]
    forecast: Forecast
    memory: float
    devices: int

    def wave(self, name: str) -> int:
        """In which group a member trains first, from 1."""
        return 1 + next(n for n, part in enumerate(self.parts) if name in part.epochs)


def planned(study: EnsembleStudy, probed: Probed, *, cores: int, fed: bool) -> Planned:
    """Plan a study on this machine.

    Args:
        study: data, members, and what the run may use.
        probed: what samples and members cost.
        cores: that everything shares.
        fed: whether a loader gives the samples.

    Raises:
        InputError: a member does not fit.
        MissingExtra: members ask for this machine's GPUs, and PyTorch is not installed.
    """
    anywhere = any(recipe.device == "auto" for recipe in study.recipes)
    devices, of_device = gpus() if anywhere else (0, 0.0)
    memory = of_device if devices else memory_free() - study.memory
    parts = _parts(study, probed, devices=devices, memory=memory)
    first = parts[0]
    batches = {recipe.name: recipe.batch for recipe in study.recipes}
    setting = on_one_node(probed, [*first.epochs], batches, cores=cores, arena=study.memory)
    choice = loading(setting, study.input, workers=study.workers, fed=fed)
    expected = forecast(probed, parts, choice.way, cores=cores, arena=study.memory)
    return Planned(
        probed=probed,
        choice=choice,
        parts=parts,
        forecast=expected,
        memory=memory,
        devices=devices,
    )


def _parts(
    study: EnsembleStudy, probed: Probed, *, devices: int, memory: float
) -> tuple[Trains, ...]:
    """Who trains together; of the members that end early, it is only known how many."""
    halving = comparisons(study)
    rungs = [int(rung) for rung in halving.rungs] if halving else []
    parts, active, since = list[Trains](), list(study.recipes), 0
    for ends in [*rungs, study.epochs]:
        going = [recipe for recipe in active if recipe.epochs > since]
        for placed in together(going, probed, devices=devices, memory=memory):
            here = [recipe for recipe in going if recipe.name in placed]
            parts.append(
                Trains(
                    batches={recipe.name: recipe.batch for recipe in here},
                    epochs={recipe.name: min(ends, recipe.epochs) for recipe in here},
                    since=since,
                )
            )
        contenders = [recipe for recipe in going if recipe.epochs > ends]
        kept = halving.kept(len(contenders)) if halving and contenders else 0
        active, since = contenders[:kept], ends
        if not active:
            break
    return tuple(parts)
