"""Coefficients: every value has a source, also one that the caller changed."""

from dataclasses import replace

from foretrain.cost.coefficients import DEFAULT, SOURCES, sources_of


def test_every_value_of_the_default_lies_in_its_interval_and_names_its_source():
    for name, source in SOURCES.items():
        assert getattr(DEFAULT, name) == source.value
        assert source.low <= source.value <= source.high
        assert source.source
        assert source.kind in {"measured", "published", "assumed"}


def test_measured_values_list_their_rows_and_no_other_does():
    assert {source.kind == "measured" for source in SOURCES.values() if source.rows} == {True}
    assert all(source.rows for source in SOURCES.values() if source.kind == "measured")


def test_value_of_the_caller_is_told_as_given():
    mine = sources_of(replace(DEFAULT, name="mine", launch=1e-5))
    assert (mine["launch"].value, mine["launch"].kind) == (1e-5, "given")
    assert mine["nvlink"] == SOURCES["nvlink"]
