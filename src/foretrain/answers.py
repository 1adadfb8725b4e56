"""Answers: every verb, where it is, and what its answer is; a line adds one.

A line is a document of its own, a JSON Schema and a public Python function; with `help` it is a
command of a study too, in the terminal, as JSON and as a page.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from typing import Final, NamedTuple


class Answer(NamedTuple):
    """A verb.

    Attributes:
        name: of its document; the function's has underscores.
        home: the module of the function.
        result: what it answers, "module:class".
        report: what is said of that, "module:function"; without one, what the labels of the result
            say.
        help: what it does, for a command that takes a study and nothing else.
        then: what to ask next, "module:function"; {study} stands for the question there.
    """

    name: str
    home: str
    result: str
    report: str = ""
    help: str = ""
    then: str = ""

    @property
    def function(self) -> str:
        """Its name in Python, which keeps some words for itself."""
        return self.name.replace("-", "_") + "_" * iskeyword(self.name)

    def __call__(self, question: object, **more: object) -> object:
        """The answer to a question."""
        return loaded(f"{self.home}:{self.function}")(question, **more)


ANSWERS: Final = (
    Answer(
        "estimate",
        "step.estimate",
        "step.result:Estimate",
        "step.facts:estimate_report",
        help="Predict time, memory, money and energy of one plan.",
        then="step.facts:after_estimate",
    ),
    Answer(
        "collective", "step.curve", "step.curve:CollectiveCurve", "step.curve:collective_report"
    ),
    Answer(
        "search",
        "search.search",
        "search.result:SearchResult",
        "search.report.search:search_report",
        then="search.report.compare:after_search",
    ),
    Answer(
        "largest", "search.largest", "search.largest:Largest", "search.report.search:largest_report"
    ),
    Answer(
        "explain",
        "search.explain.explain",
        "search.explain.explain:Explained",
        "search.report.explain:explain_report",
        then="search.report.compare:after_explain",
    ),
    Answer(
        "compare",
        "search.explain.compare",
        "search.explain.compared:Comparison",
        "search.report.compare:compare_report",
        then="search.report.compare:after_compare",
    ),
    Answer("mixed", "search.search", "step.pair:MixedResult", "search.report.cases:mixed_report"),
    Answer("export", "search.export", "search.export:Exported", "search.export:export_report"),
    Answer(
        "import",
        "search.import_files",
        "search.import_files:Imported",
        "search.import_files:import_report",
    ),
    Answer("scale", "queueing.scale", "queueing.scaled:Scaled", "queueing.report:scale_report"),
    Answer("simulate", "jobs.simulate", "jobs.result:Simulated", "jobs.report:simulate_report"),
    Answer(
        "calibrate",
        "evidence.calibrate",
        "evidence.result:Calibrated",
        "evidence.calibrate:calibrate_report",
    ),
    Answer(
        "validate",
        "evidence.validate",
        "evidence.validate:Validation",
        "evidence.report:validation_report",
    ),
    Answer(
        "ensemble-estimate",
        "ensemble.estimate",
        "ensemble.estimate:EnsembleEstimated",
        "ensemble.estimate:ensemble_estimate_report",
    ),
    Answer(
        "ensemble-run",
        "ensemble.train",
        "ensemble.result:EnsembleRan",
        "ensemble.train:ensemble_run_report",
    ),
    Answer(
        "catalogue",
        "app.catalogue",
        "study.catalogue:CatalogueResult",
        "app.catalogue:catalogue_report",
    ),
    Answer("doctor", "app.doctor", "app.doctor:Diagnosis", "app.doctor:doctor_report"),
)


def loaded(place: str) -> Callable[..., object]:
    """What "module:name" of the package names."""
    module, name = place.split(":")
    found: Callable[..., object] = getattr(import_module(f"foretrain.{module}"), name)
    return found


def entry_of(answer: object) -> Answer:
    """The line of an answer, by its class."""
    kind = type(answer)
    place = f"{kind.__module__.removeprefix('foretrain.')}:{kind.__qualname__}"
    return next(entry for entry in ANSWERS if entry.result == place)
