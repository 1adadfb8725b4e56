"""Formulas of many workers beside their simulation: rows within the bar, and one that is missed."""

from dataclasses import replace

import pytest
from validation.servers import compared, main

from validation import servers


@pytest.mark.parametrize("combination", servers.COMBINATIONS, ids=lambda it: it.name)
def test_a_row_is_within_the_bar(combination, monkeypatch):
    monkeypatch.setattr(servers, "STEPS", 8_000)
    monkeypatch.setattr(servers, "FEWEST", 1_000)
    assert abs(compared(combination, 4).difference) < servers.MOST


def test_a_formula_that_is_wrong_is_missed(monkeypatch, capsys):
    right = servers.by_formula

    def wrong(training, workers):
        found = right(training, workers)
        return replace(found, throughput=0.9 * found.throughput)

    monkeypatch.setattr(servers, "by_formula", wrong)
    monkeypatch.setattr(servers, "COMBINATIONS", servers.COMBINATIONS[:1])
    monkeypatch.setattr(servers, "COUNTS", (1,))
    monkeypatch.setattr(servers, "STEPS", 100)
    monkeypatch.setattr(servers, "FEWEST", 100)
    assert main([]) == 1
    assert "MISSED" in capsys.readouterr().out
