"""foretrain: know before you train.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Cluster": "foretrain.cluster.cluster",
    "Coefficients": "foretrain.cost.coefficients",
    "Device": "foretrain.cluster.device",
    "Estimate": "foretrain.results.estimate",
    "ForetrainError": "foretrain.errors",
    "InputError": "foretrain.errors",
    "Model": "foretrain.workload.graph",
    "NoPlanFits": "foretrain.errors",
    "Plan": "foretrain.plan.plan",
    "SearchResult": "foretrain.results.search",
    "Space": "foretrain.plan.space",
    "Study": "foretrain.plan.study",
    "Workload": "foretrain.workload.workload",
    "catalogue": "foretrain.verbs.catalogue",
    "doctor": "foretrain.verbs.doctor",
    "estimate": "foretrain.verbs.estimate",
    "read_runs": "foretrain.files.measurements",
    "read_study": "foretrain.files.study",
    "search": "foretrain.verbs.search",
    "validate": "foretrain.verbs.validate",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foretrain' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
