"""Widths of intervals: learned from rows that something may be fitted to, and written with them."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from tests.validation.fitting.scored_rows import row
from validation.calibrate import kept_apart
from validation.widths import taught, with_widths

from foretrain.coefficients.coefficients import Origin
from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml, calibration


def rows_of(*sources):
    noise = np.random.default_rng(0).laplace(0.0, 0.1, 40)
    return [
        row(f"{source}-{place}", exp(float(each)), precision=f"kind {place // 4}")
        for source in sources
        for place, each in enumerate(noise)
    ]


@pytest.fixture(scope="module")
def made():
    return with_widths(SHIPPED, rows_of("a", "b", "c"))


def test_nothing_is_learned_from_sources_that_are_kept_apart():
    apart = replace(row("a-1").run, source_id="korthikanti")
    assert "korthikanti" in kept_apart()
    assert taught([row("a-1"), replace(row("a-2"), run=apart)]) == [row("a-1")]


def test_every_width_lists_its_rows_and_lies_in_its_interval(made):
    widths = {name: it for name, it in made.known.items() if name.startswith("uncertainty.")}
    side, sample = widths.pop("uncertainty.quicker"), widths.pop("uncertainty.sample")
    assert (side.value, side.kind) == (1.0, Origin.ASSUMED)
    assert (sample, sample.kind) == (PRIORS.known["uncertainty.sample"], Origin.ASSUMED)
    assert len(widths) == 17
    assert all(len(it.rows) == 120 and it.low <= it.value <= it.high for it in widths.values())


def test_other_coefficients_stay_as_they_were(made):
    assert all(
        it == SHIPPED.known[name]
        for name, it in made.known.items()
        if not name.startswith("uncertainty.")
    )


def test_what_the_rows_cover_is_written_with_them(made):
    again = calibration(as_toml(made, over=PRIORS, about="made up"), over=PRIORS, where="made up")
    assert again.covers == made.covers
    assert again.covers.devices == {"a100-sxm-80gb"}
    assert sum(run.rows for run in again.covers.runs) == 120
    assert [run.id for run in again.covers.runs] == [run.id for run in made.covers.runs]
    assert again.known["uncertainty.time"].value == pytest.approx(
        made.known["uncertainty.time"].value, rel=1e-5
    )
