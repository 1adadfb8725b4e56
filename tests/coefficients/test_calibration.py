"""Calibrations: every value has a source, also one that the caller changed."""

import pytest

from foretrain.coefficients.coefficients import Origin, coefficients_of, names
from foretrain.errors import InputError
from foretrain.study.coefficients import DEFAULT, PRIORS, SHIPPED


@pytest.mark.parametrize("made", [PRIORS, SHIPPED], ids=["priors", "shipped"])
def test_every_value_has_a_source_and_a_unit(made):
    assert set(made.known) == set(names())
    for name, it in made.known.items():
        assert made.coefficients.value(name) == it.value
        assert it.source
        assert it.unit


def test_nothing_is_measured_in_the_priors_and_something_in_the_shipped_set():
    assert Origin.MEASURED not in {it.kind for it in PRIORS.known.values()}
    assert Origin.MEASURED in {it.kind for it in SHIPPED.known.values()}


def test_value_of_the_caller_is_told_as_given():
    mine = DEFAULT.changed({"host.launch": 1e-4}).sources
    assert (mine["host.launch"].value, mine["host.launch"].kind) == (1e-4, Origin.GIVEN)
    assert mine["links.nvlink"] == SHIPPED.known["links.nvlink"]


def test_set_that_lacks_a_value_or_has_one_too_many_is_refused():
    values = {name: DEFAULT.value(name) for name in names()}
    with pytest.raises(InputError, match=r"missing links.nvlink; unknown links.nvlnk"):
        coefficients_of("odd", {k.replace("nvlink", "nvlnk"): v for k, v in values.items()})


def test_a_set_from_before_eager_software_was_told_apart_says_the_same_of_it():
    values = {name: DEFAULT.value(name) for name in names() if "_eager" not in name}
    found = coefficients_of("before", values)
    assert found.memory_errors_eager == found.memory_errors
