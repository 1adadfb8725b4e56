"""Kept apart: no coefficient is fitted to a source that only judges."""

from pathlib import Path

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


def test_no_row_of_a_coefficient_is_kept_apart():
    apart = kept_apart()
    rows = {name: {source_of(row) for row in it.rows} for name, it in SHIPPED.known.items()}
    assert any(rows.values())
    assert not {name: sources & apart for name, sources in rows.items() if sources & apart}


def test_measured_coefficients_list_the_rows_they_were_fitted_to():
    measured = {name: it.rows for name, it in SHIPPED.known.items() if it.kind == "measured"}
    assert measured
    assert not [name for name, rows in measured.items() if not rows]


def test_no_coefficient_comes_from_those_sources_or_a_tool_tuned_on_them():
    words = (*kept_apart(), "calculon")
    told = {name: it.source.lower() for name, it in SHIPPED.known.items()}
    assert not [(name, word) for name, source in told.items() for word in words if word in source]
