"""Transfer times of sources that are left out, and widths of intervals that others teach."""

from dataclasses import replace

import numpy as np
import pytest
from tests.examples import slow
from validation.collectives import timed
from validation.fitting.transfers import Missed, learned, widths
from validation.transfers import main, shipped_terms, sources

from foretrain.coefficients.coefficients import TransferErrors
from foretrain.study.coefficients import PRIORS, SHIPPED


@slow
def test_machines_that_are_left_out_keep_the_bars(capsys):
    assert main([]) == 0
    told = capsys.readouterr().out
    assert "MISSED" not in told
    assert all(f"{source}: intervals learned from the others" in told for source in sources())


@slow
def test_shipped_widths_are_those_that_all_sources_teach():
    for name, term in shipped_terms().items():
        shipped = SHIPPED.known[name]
        assert shipped.value == pytest.approx(term.value, rel=0.02)
        assert set(shipped.rows) == set(term.rows)


def test_no_row_that_is_not_scored_teaches():
    assert sources() == ["aws-nccl", "azure-guide", "rccl-1490"]


def test_widths_hold_four_of_five_errors_of_either_sort():
    row = next(timed())
    rng = np.random.default_rng(0)
    truth = {0.0: 0.05, 1.0: 0.4}
    found = [
        Missed(row=replace(row, id=f"s-{n}"), waiting=waiting, error=error, name="ring")
        for waiting, spread in truth.items()
        for n, error in enumerate(rng.normal(0.0, spread, 2000))
    ]
    errors = learned(found, PRIORS.known)
    for waiting in truth:
        held = np.mean([each.inside(errors) for each in found if each.waiting == waiting])
        assert held == pytest.approx(0.8, abs=0.04)


def test_widths_of_both_sorts_add_up_like_errors_of_their_own():
    errors = TransferErrors(moving=0.3, waiting=0.4)
    assert widths(errors, np.array([0.0, 1.0])) == pytest.approx([0.3, 0.5])
    assert widths(errors, np.array([0.25]))[0] == pytest.approx(np.hypot(0.3, 0.2))
