"""Provenance: which foretrain, which question and which coefficients stand behind an answer."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.collective_study import CollectiveStudy
from foretrain.plan.study import Study
from foretrain.show.document import CoefficientSource, Provenance, fingerprint
from foretrain.study.coefficients import DEFAULT


def provenance(*nouns: object, coefficients: Coefficients = DEFAULT) -> Provenance:
    """What stands behind an answer to these nouns."""
    return Provenance(
        version=installed(),
        inputs=fingerprint(*nouns),
        coefficients=coefficients.name,
        sources=tuple(
            CoefficientSource(
                name=name,
                value=source.value,
                unit="" if source.unit == "1" else source.unit,
                low=source.low,
                high=source.high,
                source=source.source,
                kind=source.kind,
            )
            for name, source in coefficients.sources.items()
        ),
    )


def of_study(study: Study, *, coefficients: Coefficients = DEFAULT) -> Provenance:
    """What stands behind an answer to a study; what a reader assumed stands in the answer."""
    nouns = (study.workload, study.cluster, study.space, study.objective, study.limit, study.job)
    both = () if study.mixed is None else (study.mixed,)
    futures = (*study.offers, *study.scenarios)
    return provenance(*nouns, *both, *futures, coefficients=coefficients)


def of_question(
    study: Study | CollectiveStudy, *, coefficients: Coefficients = DEFAULT
) -> Provenance:
    """What stands behind an answer to a study, whatever it asks."""
    if isinstance(study, Study):
        return of_study(study, coefficients=coefficients)
    return provenance(replace(study, assumed=()), coefficients=coefficients)


def installed() -> str:
    """The version of foretrain; "unknown" where it runs from a folder without being installed."""
    try:
        return version("foretrain")
    except PackageNotFoundError:
        return "unknown"
