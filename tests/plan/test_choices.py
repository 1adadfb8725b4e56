"""Choices: what is chosen step by step is what is chosen at once."""

from collections import Counter

import numpy as np
from hypothesis import given
from tests.examples import few
from tests.random_studies import studies

from foretrain.plan.choices import KINDS, LAYERS, PARAMETERS, SHARDS, STAGES, question_of
from foretrain.plan.enumeration import counts, degrees, grown, most, with_choices, with_layers


def regions(study):
    """The question of a study, and what layers depend on, of its first offer."""
    question = question_of(study.workload, study.space)
    return question, with_layers(question, degrees(question, study.choices[0].devices))


def listed(plans):
    return Counter(plans.plan(row) for row in range(len(plans)))


@few(25, slow=500)
@given(studies(most=1_000))
def test_kinds_and_then_shards_are_parameters(study):
    question, (layers, _) = regions(study)
    at_once = grown(question, layers, PARAMETERS)
    assert listed(grown(question, layers, (*KINDS, *SHARDS))) == listed(at_once)


@few(25, slow=500)
@given(studies(most=1_000))
def test_shards_of_all_kinds_are_as_many_as_parameters(study):
    question, (layers, many) = regions(study)
    kinds, source = layers, np.arange(len(layers))
    for dimension in KINDS:
        kinds, rows = with_choices(question, kinds, dimension)
        source = source[rows]
    later = counts(question, kinds, (*SHARDS, *STAGES))
    np.testing.assert_array_equal(np.bincount(source, later, minlength=len(layers)), many)


@few(25, slow=500)
@given(studies(most=1_000))
def test_plans_are_counted_as_they_are_listed(study):
    question, (layers, many) = regions(study)
    assert (many >= 1).all()
    assert len(grown(question, layers, (*PARAMETERS, *STAGES))) == many.sum()
    assert len(with_layers(question, layers.take(np.zeros(0, int)))[0]) == 0


@few(25, slow=500)
@given(studies(most=1_000))
def test_most_chunks_are_those_of_the_plan_that_has_most(study):
    question, (layers, _) = regions(study)
    largest = most(question, layers, dimension=STAGES[0], name="interleaving")
    every, source = with_choices(question, layers, STAGES[0])
    for row in range(len(layers)):
        assert largest[row] == every.interleaving[source == row].max()


def test_each_field_is_chosen_once():
    names = [name for each in (*LAYERS, *PARAMETERS, *STAGES) for name in each.names]
    assert len(names) == len(set(names))
    split = [name for each in (*KINDS, *SHARDS) for name in each.names]
    assert set(split) == {name for each in PARAMETERS for name in each.names}
