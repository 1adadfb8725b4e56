from dataclasses import dataclass

from foretrain.ensemble.plan import preferred, worth_sharing


@dataclass(frozen=True)
class Way:
    rate: float
    cpu: float


def test_the_fastest_is_preferred_whatever_it_costs():
    assert preferred([Way(100, 1), Way(110, 50)]) == Way(110, 50)


def test_of_those_as_fast_the_cheapest_is_preferred():
    assert preferred([Way(100, 2), Way(99, 1), Way(90, 0.1)]) == Way(99, 1)


def test_of_those_as_cheap_the_first_is_preferred():
    assert preferred([Way(99, 1.01), Way(100, 1.0)]) == Way(99, 1.01)


def test_sharing_must_be_faster_or_as_fast_for_clearly_less_cpu_time():
    private = Way(100, 1)
    assert worth_sharing(Way(110, 2), private)
    assert worth_sharing(Way(99, 0.9), private)
    assert not worth_sharing(Way(99, 0.97), private)
    assert not worth_sharing(Way(90, 0.1), private)
