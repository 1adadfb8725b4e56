"""Bounds: no plan of a region takes less, whatever its open fields say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from tests.examples import few
from tests.random_models import decoders
from tests.random_studies import studies
from tests.small import cluster, expert_study, gpt_study, llama_study, long_study

from foretrain.cluster.device import Link, Technology
from foretrain.plan.choices import PARAMETERS, STAGES, question_of
from foretrain.plan.enumeration import degrees, grown, most, with_choices, with_layers, with_orders
from foretrain.search.survey import gradients_wait
from foretrain.step.bounds import any_order, any_parameters, any_stages
from foretrain.step.ends import with_input
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, stage_memory
from foretrain.step.setting import setting
from foretrain.step.step import factors, step_time
from foretrain.study.coefficients import DEFAULT

SOME = 1_500
"""Plans of a random study, at most."""


def asked(study, offer):
    """The question of a study, its setting on an offer, and the first regions."""
    question = question_of(study.workload, study.space)
    regions, _ = with_layers(question, degrees(question, offer.devices))
    return question, setting(study.workload, offer.cluster, DEFAULT), regions


def divided(question, plans, dimensions):
    """Every plan of some regions, and the region that it came from."""
    source = np.arange(len(plans))
    for dimension in dimensions:
        plans, rows = with_choices(question, plans, dimension)
        source = source[rows]
    return plans, source


def seconds_in_every_order(study, known, plans):
    """What plans take in each of their orders, and the plan that it is."""
    ordered, source = with_orders(plans, known.cluster, study.space)
    times = step_time(known, factors(known, hold(known, ordered)))
    return with_input(known, ordered, times), source


def check_orders(study):
    for offer in study.choices:
        question, known, regions = asked(study, offer)
        if not len(regions):
            continue
        plans, _ = divided(question, regions, (*PARAMETERS, *STAGES))
        bound = any_order(known, hold(known, plans))
        seconds, source = seconds_in_every_order(study, known, plans)
        assert (bound[source] <= seconds).all()


@few(10, slow=250)
@given(studies(most=SOME))
def test_no_order_beats_its_bound(study):
    check_orders(study)


SWITCHES = Link(latency=1e-6, bandwidth=5e10, technology=Technology.INFINIBAND, in_network=True)
SLOW = Link(latency=1e-4, bandwidth=1e9, technology=Technology.PCIE)


@pytest.mark.parametrize("study", [gpt_study(), llama_study(), expert_study(), long_study()])
@pytest.mark.parametrize("links", [(SLOW, SWITCHES), (SWITCHES, SLOW)])
def test_no_order_beats_its_bound_where_outer_links_are_the_better_ones(study, links):
    nodes = cluster(nodes=2, node_devices=study.cluster.devices // 2, host=study.cluster.host)
    levels = [replace(level, link=link) for level, link in zip(nodes.levels, links, strict=True)]
    check_orders(replace(study, cluster=replace(nodes, levels=tuple(levels))))


def equal_stages(study):
    return replace(study, space=replace(study.space, cut=("even",)))


EQUAL = studies(of=decoders(), most=SOME).map(equal_stages)


@few(10, slow=250)
@given(EQUAL)
def test_neither_schedule_nor_chunks_nor_sends_beat_their_bound(study):
    for offer in study.choices:
        question, known, regions = asked(study, offer)
        if not len(regions):
            continue
        plans = grown(question, regions, PARAMETERS)
        chunks = most(question, plans, dimension=STAGES[0], name="interleaving")
        waits = gradients_wait(question)
        bound = any_stages(known, hold(known, plans), chunks=chunks, waits=waits)
        every, region = divided(question, plans, STAGES)
        seconds, source = seconds_in_every_order(study, known, every)
        assert (bound[region][source] <= seconds).all()


@few(10, slow=250)
@given(EQUAL)
def test_no_sharding_beats_its_bound(study):
    for offer in study.choices:
        question, known, regions = asked(study, offer)
        if not len(regions):
            continue
        chunks = most(question, regions, dimension=STAGES[0], name="interleaving")
        waits = gradients_wait(question)
        held, used = hold(known, regions), offer.devices
        bound = any_parameters(known, held, chunks=chunks, waits=waits, used=used)
        every, region = divided(question, regions, (*PARAMETERS, *STAGES))
        seconds, source = seconds_in_every_order(study, known, every)
        assert (bound[region][source] <= seconds).all()


@few(10, slow=250)
@given(studies(most=SOME))
def test_no_sharding_of_unequal_stages_beats_its_bound(study):
    for offer in study.choices:
        question, known, regions = asked(study, offer)
        plans = grown(question, regions, STAGES)
        if not len(plans):
            continue
        waits = gradients_wait(question)
        held = hold(known, plans)
        chunks, used = plans.interleaving, offer.devices
        bound = any_parameters(known, held, chunks=chunks, waits=waits, used=used)
        every, region = divided(question, plans, PARAMETERS)
        seconds, source = seconds_in_every_order(study, known, every)
        assert (bound[region][source] <= seconds).all()


@few(10, slow=250)
@given(EQUAL)
def test_tighter_bounds_are_no_smaller(study):
    """A bound that knows more of a plan says more: each is at least the one before."""
    offer = study.choices[0]
    question, known, regions = asked(study, offer)
    assume(len(regions))
    chunks = most(question, regions, dimension=STAGES[0], name="interleaving")
    waits = gradients_wait(question)
    held, used = hold(known, regions), offer.devices
    first = any_parameters(known, held, chunks=chunks, waits=waits, used=used)
    plans, region = divided(question, regions, PARAMETERS)
    second = any_stages(known, hold(known, plans), chunks=chunks[region], waits=waits)
    assert (first[region] <= second * (1.0 + 1e-12)).all()


@few(10, slow=250)
@given(studies(most=SOME))
def test_first_stage_needs_no_more_memory_than_the_heaviest(study):
    for offer in study.choices:
        question, known, regions = asked(study, offer)
        plans = grown(question, regions, (*PARAMETERS, *STAGES))
        if len(plans):
            held = hold(known, plans)
            assert (stage_memory(known, held, run=0).total <= heaviest_total(known, held)).all()


def test_gradients_that_wait_lower_the_bound():
    study = gpt_study()
    _, known, regions = asked(study, study.choices[0])
    held, chunks = hold(known, regions), regions.interleaving
    waiting, alone = (any_stages(known, held, chunks=chunks, waits=each) for each in (True, False))
    assert (waiting <= alone).all()
    assert (waiting < alone)[regions.pipeline > 1].all()


def test_more_chunks_lower_the_bound_of_pipelines_alone():
    study = gpt_study()
    _, known, regions = asked(study, study.choices[0])
    held, one = hold(known, regions), np.ones(len(regions))
    few_chunks, many = (any_stages(known, held, chunks=each, waits=True) for each in (one, 4 * one))
    assert (many < few_chunks)[regions.pipeline > 1].all()
    np.testing.assert_array_equal(many[regions.pipeline == 1], few_chunks[regions.pipeline == 1])
