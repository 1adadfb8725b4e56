"""Algorithms of one's own: they count where they are cheapest, and what they say is checked."""

from dataclasses import replace

import numpy as np
import pytest
from tests.small import cluster

from foretrain.errors import ForetrainError, InputError
from foretrain.step.collective import algorithms, transfer
from foretrain.step.collectives import group as own
from foretrain.step.collectives.line import Line
from foretrain.step.collectives.rings import ring_all_reduce
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.coefficients import DEFAULT

SIZES = [1e3, 1e6, 1e9]
MACHINE = cluster(nodes=2, node_devices=8)


@pytest.fixture
def bring(monkeypatch):
    """A cluster with an algorithm of one's own for all-reduces."""

    def brought(algorithm, name="mine"):
        monkeypatch.setattr(own, "own", lambda kind, asked: algorithm)
        return replace(MACHINE, collectives=(("all-reduce", name),))

    return brought


def seconds(machine):
    return transfer(machine, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES)


def test_a_quicker_algorithm_is_chosen_and_named(bring):
    machine = bring(lambda group: Line(fixed=0.0, per_byte=1e-15), name="quick")
    assert (seconds(machine) < seconds(MACHINE)).all()
    assert set(algorithms(machine, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES)) == {"quick"}


def test_a_slower_one_changes_nothing(bring):
    def slow(group):
        line = ring_all_reduce(group)
        return Line(fixed=2 * line.fixed, per_byte=2 * line.per_byte)

    np.testing.assert_array_equal(seconds(bring(slow, name="slow")), seconds(MACHINE))


def test_other_patterns_do_not_see_it(bring):
    machine = bring(lambda group: Line(fixed=0.0, per_byte=0.0), name="other")
    gathers = (transfer(it, DEFAULT, Pattern.ALL_GATHER, sizes=SIZES) for it in (machine, MACHINE))
    np.testing.assert_array_equal(*gathers)


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        (lambda group: 3.0, "returned a float; a Line"),
        (lambda group: Line(fixed=-1.0, per_byte=0.0), "must be one number of at least 0"),
        (lambda group: Line(fixed=0.0, per_byte=float("nan")), "must be one number of at least 0"),
        (lambda group: Line(fixed=np.zeros(5), per_byte=0.0), "must be one number of at least 0"),
        (None, "unknown collective 'bad"),
        (3, "is a int; a function is wanted"),
    ],
)
def test_what_cannot_be_is_refused(bring, algorithm, says, request):
    with pytest.raises(InputError) as told:
        seconds(bring(algorithm, name=f"bad {request.node.name}"))
    assert says in str(told.value)


def test_what_it_raises_is_told_with_its_name(bring):
    with pytest.raises(ForetrainError, match="collective 'dies' raised KeyError: 3"):
        seconds(bring(lambda group: {}[3], name="dies"))
