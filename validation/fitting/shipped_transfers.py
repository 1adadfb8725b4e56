"""Terms of transfer times in the shipped set and in those without a publisher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from validation.fitting.collectives import NAMES
from validation.fitting.transfers import TERMS

from foretrain.coefficients.coefficients import Coefficient
from foretrain.study.coefficients import PRIORS, as_toml, calibration

KEPT = "links.start"
"""Stays as it was known: steps count the start of a collective too."""


def write(path: Path, terms: Mapping[str, Coefficient]) -> None:
    """Puts fitted terms into a set; those of which rows say nothing are as known before.

    Args:
        path: of the set.
        terms: by name.
    """
    text = path.read_text("utf-8")
    made = calibration(text, over=PRIORS, where=path.name)
    before = {name: PRIORS.known[name] for name in (*NAMES, *TERMS, "protocols.ethernet_hop")}
    found = {name: term for name, term in terms.items() if name != KEPT}
    about = text.splitlines()[0].removeprefix("# ")
    made = replace(made, known={**made.known, **before, **found})
    path.write_text(as_toml(made, over=PRIORS, about=about), "utf-8")
