"""Kept apart: no coefficient is fitted to a source that only judges."""

from pathlib import Path

import pytest

from foretrain.study.coefficients import SHIPPED

LIST = Path(__file__).parents[2] / "validation" / "evaluation-only.txt"


def kept_apart() -> set[str]:
    lines = [line.split("#")[0].strip() for line in LIST.read_text().splitlines()]
    return {line for line in lines if line}


def source_of(row: str) -> str:
    """The source of a row's id (`korthikanti-mem-0007`)."""
    name, _, number = row.rpartition("-")
    return name if number.isdigit() else row


def test_the_list_names_the_sources_that_the_design_keeps_apart():
    assert {"korthikanti", "korthikanti-mem", "narayanan-sc21"} <= kept_apart()


def test_the_source_of_a_row_is_its_id_without_the_number():
    assert source_of("korthikanti-mem-0007") == "korthikanti-mem"
    assert source_of("korthikanti-mem") == "korthikanti-mem"


@pytest.mark.parametrize("name", sorted(SHIPPED.known))
def test_no_row_of_a_coefficient_is_kept_apart(name):
    assert not {source_of(row) for row in SHIPPED.known[name].rows} & kept_apart()


@pytest.mark.parametrize("name", sorted(SHIPPED.known))
def test_measured_coefficients_list_the_rows_they_were_fitted_to(name):
    assert SHIPPED.known[name].kind != "measured" or SHIPPED.known[name].rows


@pytest.mark.parametrize("name", sorted(SHIPPED.known))
def test_no_coefficient_comes_from_those_sources_or_a_tool_tuned_on_them(name):
    source = SHIPPED.known[name].source.lower()
    assert not [word for word in (*kept_apart(), "calculon") if word in source]
