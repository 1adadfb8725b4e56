"""Answers: the result of every verb, under the name that its document has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.results.calibrate import Calibrated
from foretrain.results.catalogue import CatalogueResult
from foretrain.results.doctor import Diagnosis
from foretrain.results.ensemble_estimate import EnsembleEstimated
from foretrain.results.ensemble_run import EnsembleRan
from foretrain.results.estimate import Estimate
from foretrain.results.largest import Largest
from foretrain.results.mixed import MixedResult
from foretrain.results.search import SearchResult
from foretrain.results.simulate import Simulated
from foretrain.results.validate import Validation

ANSWERS: Mapping[str, type] = MappingProxyType(
    {
        "estimate": Estimate,
        "search": SearchResult,
        "largest": Largest,
        "mixed": MixedResult,
        "calibrate": Calibrated,
        "simulate": Simulated,
        "ensemble-estimate": EnsembleEstimated,
        "ensemble-run": EnsembleRan,
        "validate": Validation,
        "catalogue": CatalogueResult,
        "doctor": Diagnosis,
    }
)


def name_of(answer: object) -> str:
    """The name of an answer's document."""
    return next(name for name, kind in ANSWERS.items() if isinstance(answer, kind))
