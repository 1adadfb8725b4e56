"""Classes: what a row is, from what its source states."""

from dataclasses import replace

import pytest
from tests.validation.fitting.scored_rows import RUN, laid
from validation.fitting.classes import CLASSES


def classes_of(run):
    return {name for name, belongs in CLASSES.items() if belongs(run)}


def named(name, **changes):
    return replace(RUN, network=replace(RUN.network, name=name, **changes))


def test_a_dense_run_that_states_everything_is_told():
    assert classes_of(RUN) == {"all", "dense, all stated"}


def test_one_degree_may_follow_from_the_devices():
    assert "dense, all stated" in classes_of(replace(RUN, layout=laid(data=None)))
    assert "dense, all stated" not in classes_of(replace(RUN, layout=laid(data=None, tensor=None)))


@pytest.mark.parametrize(
    "change",
    [{"precision": ""}, {"network": replace(RUN.network, sequence=None)}],
    ids=["precision", "sequence"],
)
def test_a_blank_that_decides_the_time_is_not_told(change):
    assert classes_of(replace(RUN, **change)) == {"all"}


def test_low_precision_stands_apart():
    run = replace(RUN, precision="mxfp8")
    assert classes_of(run) == {"all", "dense, all stated, fp8 and fp4"}


def test_experts_stand_apart():
    assert classes_of(named("mixtral-8x7b", experts=8)) == {"all", "experts"}


def test_state_space_layers_stand_apart_from_everything():
    assert classes_of(named("Nemotron_3_Nano", experts=128)) == {"hybrids"}
