"""foretrain: know before you train.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from foretrain.answers import ANSWERS

_HOMES = {
    "Answers": "foretrain.search.search",
    "ClosedNetwork": "foretrain.queueing.closed",
    "Cluster": "foretrain.cluster.cluster",
    "Coefficients": "foretrain.coefficients.coefficients",
    "CollectiveStudy": "foretrain.plan.study",
    "Device": "foretrain.cluster.device",
    "DivisibleLayer": "foretrain.queueing.segments",
    "EnergyMeter": "foretrain.ensemble.run.machine",
    "EnsembleStudy": "foretrain.measured.ensemble_study",
    "Finding": "foretrain.search.explain.finding",
    "FleetTerms": "foretrain.ensemble.costs",
    "ForetrainError": "foretrain.errors",
    "InputError": "foretrain.errors",
    "LaunchFile": "foretrain.study.launch_files",
    "Leader": "foretrain.ensemble.nodes.leader",
    "Machine": "foretrain.queueing.segments",
    "Measured": "foretrain.search.explain.finding",
    "MeasuredStep": "foretrain.search.explain.compared",
    "Model": "foretrain.workload.graph",
    "NoPlanFits": "foretrain.errors",
    "NodeGroups": "foretrain.ensemble.nodes.groups",
    "Plan": "foretrain.plan.plan",
    "QueueStudy": "foretrain.measured.queue_study",
    "Rack": "foretrain.queueing.placements",
    "ReplicatedTraining": "foretrain.queueing.replicas",
    "ScaleStudy": "foretrain.measured.scale_study",
    "Servers": "foretrain.plan.servers",
    "Space": "foretrain.plan.study",
    "Study": "foretrain.plan.study",
    "TimedStep": "foretrain.queueing.step_fit",
    "Torus": "foretrain.queueing.placements",
    "Training": "foretrain.plan.servers",
    "Updates": "foretrain.plan.servers",
    "WhyNot": "foretrain.search.result",
    "Worker": "foretrain.plan.servers",
    "Workload": "foretrain.workload.workload",
    "anchored": "foretrain.evidence.calibrate",
    "attach": "batchcast.attachment",
    "barrier": "foretrain.queueing.fork_join",
    "best_backup": "foretrain.queueing.fork_join",
    "cheapest": "foretrain.queueing.provision",
    "chrome_trace": "foretrain.queueing.servers.chrome",
    "coarse_training": "foretrain.queueing.servers.coarse",
    "divisible_layers": "foretrain.queueing.segments",
    "findings": "foretrain.search.explain.findings",
    "fit_steps": "foretrain.queueing.step_fit",
    "fleet": "foretrain.ensemble.fleet",
    "fork_join_means": "foretrain.queueing.fork_join",
    "fork_join_response": "foretrain.queueing.fork_join",
    "input_pipeline": "foretrain.ensemble.nodes.pipeline",
    "machine_repair": "foretrain.queueing.birth_death",
    "mean_values": "foretrain.queueing.closed",
    "placement_spread": "foretrain.queueing.placements",
    "provision": "foretrain.queueing.provision",
    "read_collective_study": "foretrain.study.collective_study",
    "read_calibration": "foretrain.study.coefficients",
    "read_ensemble_study": "foretrain.study.ensemble_study",
    "read_launch_files": "foretrain.study.launch_files",
    "read_measurements": "foretrain.study.measurements",
    "read_profile": "foretrain.study.scale_sections",
    "read_queue_study": "foretrain.study.queue_study",
    "read_scale_study": "foretrain.study.scale_study",
    "read_study": "foretrain.study.study",
    "register": "foretrain.app.catalogue",
    "repair_throughput": "foretrain.queueing.birth_death",
    "residual_mean_values": "foretrain.queueing.closed",
    "share": "batchcast.stream",
    "study_from": "foretrain.study.study",
    "why_not": "foretrain.search.why_not",
    "write_profile": "foretrain.study.scale_sections",
}

_HOMES |= {verb.function: f"foretrain.{verb.home}" for verb in ANSWERS}
_HOMES |= {name: f"foretrain.{home}" for home, name in (it.result.split(":") for it in ANSWERS)}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'foretrain' has no attribute '{name}'")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # The next use finds it without coming here.
    return found


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps packages from hiding verbs of the same name (`search`) once they are loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
