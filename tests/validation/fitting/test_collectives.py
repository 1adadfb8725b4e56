"""Protocol terms from measured transfer times."""

from dataclasses import replace

import numpy as np
import pytest
from validation.fitting.collectives import NAMES, Timed, errors, fitted, predicted, quickest

from foretrain.step.strategies.strategy import Pattern
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT, PRIORS

BEFORE = DEFAULT.changed({name: PRIORS.known[name].value for name in NAMES})


def table(nodes, *, coefficients):
    """All-reduces on some nodes that take exactly as long as is predicted."""
    place = cluster("dgx-h100", nodes=nodes)
    rows = tuple(
        Timed(
            id=f"{nodes}-{power}",
            run=f"{nodes} nodes",
            cluster=place,
            pattern=Pattern.ALL_REDUCE,
            size=2.0**power,
            seconds=1.0,
        )
        for power in range(16, 34)
    )
    seconds = predicted(rows, coefficients)
    return tuple(replace(row, seconds=float(s)) for row, s in zip(rows, seconds, strict=True))


def test_rows_that_are_as_known_before_move_nothing():
    found = fitted(table(1, coefficients=BEFORE), PRIORS.known, BEFORE)
    for name, term in found.items():
        assert term.value == pytest.approx(PRIORS.known[name].value, rel=1e-6)


def test_fit_finds_much_of_what_rows_were_made_with():
    truth = BEFORE.changed({"links.in_network": 0.68, "protocols.piece": 1.6e7})
    rows = table(1, coefficients=truth)
    found = fitted(rows, PRIORS.known, BEFORE)
    after = BEFORE.changed({name: term.value for name, term in found.items()})
    assert np.abs(errors(rows, after)).mean() < 0.4 * np.abs(errors(rows, BEFORE)).mean()


def test_terms_of_which_the_rows_say_nothing_are_left_out():
    found = fitted(table(1, coefficients=BEFORE), PRIORS.known, BEFORE)
    assert "protocols.ethernet_hop" not in found
    assert "protocols.rccl_wait" not in found
    assert found["protocols.ll_share"].rows == tuple(f"1-{power}" for power in range(16, 34))


def test_of_repeats_the_quickest_counts():
    rows = table(1, coefficients=BEFORE)
    slow = tuple(replace(row, id=f"{row.id}0", seconds=2 * row.seconds) for row in rows)
    assert quickest([*slow, *rows]) == rows
