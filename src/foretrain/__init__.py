"""foretrain: know before you train.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

_HOMES = {
    "Cluster": "foretrain.cluster.cluster",
    "Coefficients": "foretrain.coefficients.coefficients",
    "Device": "foretrain.cluster.device",
    "EnsembleEstimated": "foretrain.results.ensemble_estimate",
    "EnsembleRan": "foretrain.results.ensemble_run",
    "EnsembleStudy": "foretrain.measured.ensemble_study",
    "Estimate": "foretrain.results.estimate",
    "ForetrainError": "foretrain.errors",
    "InputError": "foretrain.errors",
    "Largest": "foretrain.results.largest",
    "MixedResult": "foretrain.results.mixed",
    "Model": "foretrain.workload.graph",
    "NoPlanFits": "foretrain.errors",
    "Plan": "foretrain.plan.plan",
    "QueueStudy": "foretrain.measured.queue_study",
    "SearchResult": "foretrain.results.search",
    "Simulated": "foretrain.results.simulate",
    "Space": "foretrain.plan.space",
    "Study": "foretrain.plan.study",
    "WhyNot": "foretrain.results.why_not",
    "Workload": "foretrain.workload.workload",
    "anchored": "foretrain.verbs.anchor",
    "attach": "foretrain.run.stream.attach",
    "calibrate": "foretrain.verbs.calibrate",
    "catalogue": "foretrain.verbs.catalogue",
    "doctor": "foretrain.verbs.doctor",
    "ensemble_estimate": "foretrain.verbs.ensemble_estimate",
    "ensemble_run": "foretrain.verbs.ensemble_run",
    "estimate": "foretrain.verbs.estimate",
    "largest": "foretrain.verbs.largest",
    "mixed": "foretrain.verbs.mixed",
    "read_calibration": "foretrain.files.calibration",
    "read_ensemble_study": "foretrain.files.ensemble_study",
    "read_measurements": "foretrain.files.measurements",
    "read_queue_study": "foretrain.files.queue_study",
    "read_study": "foretrain.files.study",
    "search": "foretrain.verbs.search",
    "share": "foretrain.run.stream.share",
    "simulate": "foretrain.verbs.simulate",
    "validate": "foretrain.verbs.validate",
    "why_not": "foretrain.verbs.why_not",
}

__all__ = [
    "Cluster",
    "Coefficients",
    "Device",
    "EnsembleEstimated",
    "EnsembleRan",
    "EnsembleStudy",
    "Estimate",
    "ForetrainError",
    "InputError",
    "Largest",
    "MixedResult",
    "Model",
    "NoPlanFits",
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
    "largest",
    "mixed",
    "read_calibration",
    "read_ensemble_study",
    "read_measurements",
    "read_queue_study",
    "read_study",
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
    return found


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps packages from hiding verbs of the same name (`search`) once they are loaded."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
