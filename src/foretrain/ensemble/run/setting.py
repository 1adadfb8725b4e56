"""The setting of a run: its study, its samples, what is known of them, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.ensemble.forecast import Way
from foretrain.ensemble.run.checkpoint import RunFolder
from foretrain.ensemble.run.home import Home
from foretrain.measured.ensemble_study import EnsembleStudy, Probed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetting:
    """What a run is made with.

    Attributes:
        study: the ensemble.
        home: the process that has loaded it.
        probed: what is known of samples and members.
        way: how members get their samples.
        cores: that everything shares.
        memory: bytes of a device, or of the host, that members may fill.
        devices: GPUs that members without a device of their own may have; 0 for none.
        folder: where states are kept.
    """

    study: EnsembleStudy
    home: Home
    probed: Probed
    way: Way
    cores: int
    memory: float
    devices: int
    folder: RunFolder
