"""foretrain: know before you train.

Public names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from foretrain.answers import ANSWERS

_HOMES = {
    "Answers": "foretrain.search.answers",
    "Cluster": "foretrain.cluster.cluster",
    "Coefficients": "foretrain.coefficients.coefficients",
    "Device": "foretrain.cluster.device",
    "EnergyMeter": "foretrain.ensemble.run.energy",
    "EnsembleStudy": "foretrain.measured.ensemble_study",
    "Finding": "foretrain.search.explain.finding",
    "FleetTerms": "foretrain.ensemble.terms",
    "ForetrainError": "foretrain.errors",
    "InputError": "foretrain.errors",
    "Leader": "foretrain.ensemble.nodes.leader",
    "Measured": "foretrain.search.explain.finding",
    "Model": "foretrain.workload.graph",
    "NoPlanFits": "foretrain.errors",
    "NodeGroups": "foretrain.ensemble.nodes.groups",
    "Plan": "foretrain.plan.plan",
    "QueueStudy": "foretrain.measured.queue_study",
    "Space": "foretrain.plan.study",
    "Study": "foretrain.plan.study",
    "WhyNot": "foretrain.search.result",
    "Workload": "foretrain.workload.workload",
    "anchored": "foretrain.evidence.anchor",
    "attach": "batchcast.attachment",
    "findings": "foretrain.search.explain.findings",
    "fleet": "foretrain.ensemble.fleet",
    "input_pipeline": "foretrain.ensemble.nodes.pipeline",
    "read_calibration": "foretrain.study.calibration",
    "read_ensemble_study": "foretrain.study.ensemble_study",
    "read_measurements": "foretrain.study.measurements",
    "read_queue_study": "foretrain.study.queue_study",
    "read_study": "foretrain.study.study",
    "register": "foretrain.app.register",
    "share": "batchcast.stream",
    "why_not": "foretrain.search.why_not",
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
