"""foretrain: know before you train.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_HOMES = {
    "Answers": "foretrain.search.answers",
    "Cluster": "foretrain.cluster.cluster",
    "Coefficients": "foretrain.coefficients.coefficients",
    "Device": "foretrain.cluster.device",
    "EnergyMeter": "foretrain.ensemble.run.energy",
    "EnsembleEstimated": "foretrain.ensemble.estimate",
    "EnsembleRan": "foretrain.ensemble.result",
    "EnsembleStudy": "foretrain.measured.ensemble_study",
    "Estimate": "foretrain.step.result",
    "FleetTerms": "foretrain.ensemble.terms",
    "ForetrainError": "foretrain.errors",
    "InputError": "foretrain.errors",
    "Largest": "foretrain.search.largest",
    "Leader": "foretrain.ensemble.nodes.leader",
    "MixedResult": "foretrain.step.pair",
    "Model": "foretrain.workload.graph",
    "NoPlanFits": "foretrain.errors",
    "NodeGroups": "foretrain.ensemble.nodes.groups",
    "Plan": "foretrain.plan.plan",
    "QueueStudy": "foretrain.measured.queue_study",
    "SearchResult": "foretrain.search.result",
    "Simulated": "foretrain.jobs.result",
    "Space": "foretrain.plan.study",
    "Study": "foretrain.plan.study",
    "WhyNot": "foretrain.search.result",
    "Workload": "foretrain.workload.workload",
    "anchored": "foretrain.evidence.anchor",
    "attach": "batchcast.attachment",
    "calibrate": "foretrain.evidence.calibrate",
    "catalogue": "foretrain.app.catalogue",
    "doctor": "foretrain.app.doctor",
    "ensemble_estimate": "foretrain.ensemble.estimate",
    "ensemble_run": "foretrain.ensemble.train",
    "estimate": "foretrain.step.estimate",
    "fleet": "foretrain.ensemble.fleet",
    "input_pipeline": "foretrain.ensemble.nodes.pipeline",
    "largest": "foretrain.search.largest",
    "mixed": "foretrain.search.mixed",
    "read_calibration": "foretrain.study.calibration",
    "read_ensemble_study": "foretrain.study.ensemble_study",
    "read_measurements": "foretrain.study.measurements",
    "read_queue_study": "foretrain.study.queue_study",
    "read_study": "foretrain.study.study",
    "register": "foretrain.app.register",
    "search": "foretrain.search.search",
    "share": "batchcast.stream",
    "simulate": "foretrain.jobs.simulate",
    "validate": "foretrain.evidence.validate",
    "why_not": "foretrain.search.why_not",
}

__all__ = [
    "Answers",
    "Cluster",
    "Coefficients",
    "Device",
    "EnergyMeter",
    "EnsembleEstimated",
    "EnsembleRan",
    "EnsembleStudy",
    "Estimate",
    "FleetTerms",
    "ForetrainError",
    "InputError",
    "Largest",
    "Leader",
    "MixedResult",
    "Model",
    "NoPlanFits",
    "NodeGroups",
    "Plan",
    "QueueStudy",
    "SearchResult",
    "Simulated",
    "Space",
    "Study",
    "WhyNot",
    "Workload",
    "anchored",
    "attach",
    "calibrate",
    "catalogue",
    "doctor",
    "ensemble_estimate",
    "ensemble_run",
    "estimate",
    "fleet",
    "input_pipeline",
    "largest",
    "mixed",
    "read_calibration",
    "read_ensemble_study",
    "read_measurements",
    "read_queue_study",
    "read_study",
    "register",
    "search",
    "share",
    "simulate",
    "validate",
    "why_not",
]


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
