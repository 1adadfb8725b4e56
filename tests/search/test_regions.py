"""Regions: every plan of a space is in one of them, and none takes less than its region's bound."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from tests.examples import few
from tests.random_models import decoders
from tests.random_studies import plans_of, studies
from tests.small import resnet_study

from foretrain.plan.choices import PARAMETERS, STAGES, question_of
from foretrain.plan.enumeration import with_orders
from foretrain.plan.study import parts_of
from foretrain.search.exhaustive import divided, regions_of
from foretrain.search.found import Incumbents
from foretrain.search.survey import even_only, stages_open, survey
from foretrain.search.table import valued
from foretrain.step.ends import with_input
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total, room
from foretrain.step.passes import computing_seconds
from foretrain.step.setting import setting
from foretrain.step.step import factors, step_time
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import SHARED, Software
from foretrain.workload.execution import Kernels, Loss

SOME = 1_500
"""Plans of a random study, at most."""


FREES = Software(
    phased=True,
    wide_parameters=True,
    keeps=Kernels(loss=Loss.WHOLE, norms=True, separate=True, gathered=True),
)


def explored(study, software=SHARED):
    """Setting, question, first regions and what was found on the way, of each offer."""
    question = question_of(study.workload, study.space)
    for offer in study.choices:
        known = setting(study.workload, offer.cluster, DEFAULT, software=software)
        found = Incumbents(keep=1)
        seen = survey(
            known, question=question, devices=offer.devices, most=room(known, study.limit)
        )
        ordered = regions_of(study, seen, found=found)
        regions = ordered.between(0, len(ordered))
        yield known, question, regions, found


def left_open(question, known):
    """Dimensions that are open in the first regions."""
    return (*PARAMETERS, *STAGES) if stages_open(question, known) else PARAMETERS


def check(study, software=SHARED):
    for known, question, regions, _ in explored(study, software):
        if not len(regions):
            continue
        plans = divided(question, known, regions, by=left_open(question, known), later=())
        ordered, source = with_orders(plans.plans, known.cluster, study.space)
        held = hold(known, ordered)
        memory = heaviest_total(known, held)
        seconds = with_input(known, ordered, step_time(known, factors(known, held)))
        priced = valued(study, known, ordered, seconds=seconds, memory=memory)
        for name in ("step_time", "memory", "value"):
            assert (getattr(plans.bounds, name)[source] <= getattr(priced, name)).all(), name
        assert (plans.bounds.energy is None) == (priced.energy is None)
        if priced.energy is not None:
            assert (plans.bounds.energy[source] <= priced.energy).all()
        assert (computing_seconds(known, ordered) <= seconds * (1.0 + 1e-9)).all()


@few(20)
@given(studies(most=SOME))
def test_no_plan_takes_less_than_its_region(study):
    check(study)


@few(20)
@given(studies(of=decoders(), most=SOME))
def test_no_plan_of_software_that_frees_takes_less_than_its_region(study):
    check(study, FREES)


@few(20)
@given(studies(of=decoders(), most=SOME))
def test_no_plan_of_equal_stages_takes_less_than_its_region(study):
    check(replace(study, space=replace(study.space, cut=("even",))))


@few(20)
@given(studies(most=SOME))
def test_every_plan_is_in_a_region_or_refused(study):
    total = 0
    for known, question, regions, found in explored(study):
        total += found.space
        assert regions.many.sum() + found.rejected.total() == found.space
        if len(regions):
            plans = divided(question, known, regions, by=left_open(question, known), later=())
            assert plans.many.sum() == regions.many.sum()
    assert total == plans_of(study)


@few(20)
@given(studies(most=SOME))
def test_regions_come_by_their_least_value(study):
    for _, _, regions, _ in explored(study):
        assert (np.diff(regions.bounds.value) >= 0).all()


def test_stages_of_layers_of_different_kinds_are_equal_only_with_one_chunk():
    study = resnet_study()
    even, _uneven = parts_of(study.space, study.workload.model.cuttable_layers)
    assert not even_only(question_of(study.workload, even))
    assert even_only(question_of(study.workload, replace(even, interleaving=(1,))))
    cut = replace(study.space, interleaving=(1,), cut=("even", "balanced"))
    assert not even_only(question_of(study.workload, cut))
