"""Rules and batches: what they read of a run, by hand, with every blank that it may have."""

from dataclasses import replace
from math import inf

import pytest
from tests.validation.fitting.scored_rows import RUN, on
from validation.fitting.batches import model_devices, passes, share, step_samples
from validation.fitting.decisions import RULES, Choice

from foretrain.measured.run import Place, RunLayout


def run(devices=48, *, global_batch=None, **layout):
    return replace(RUN, layout=RunLayout(**layout), place=on(devices), global_batch=global_batch)


def rule(name, one):
    return RULES[name](Choice(run=one, runs=1, measured=1.0, predicted=1.0))


CUT = {"tensor": 3, "pipeline": 4, "context": 2}
LEAST = {
    "least model parallelism": 24.0,
    "least tensor": 3.0,
    "least pipeline": 4.0,
    "most data": -2.0,
    "largest micro-batch": -5.0,
    "smallest micro-batch": 5.0,
    "least recompute": 2.0,
    "least sharding": 3.0,
}
BLANK = {
    "least model parallelism": 1.0,
    "least tensor": 1.0,
    "least pipeline": 1.0,
    "most data": -48.0,
    "largest micro-batch": 0.0,
    "smallest micro-batch": inf,
    "least recompute": 1.0,
    "least sharding": 0.0,
}


def test_rules_read_what_a_layout_states():
    stated = run(**CUT, micro_batch=5.0, recompute="full block", zero_stage=3)
    assert {name: rule(name, stated) for name in RULES} == LEAST


def test_rules_take_a_blank_for_what_is_usual_and_recomputation_for_some():
    assert {name: rule(name, run()) for name in RULES} == BLANK
    assert rule("most data", replace(RUN, layout=RunLayout(), place=Place())) == -1.0


def test_stated_replicas_go_before_those_that_follow_from_the_devices():
    assert rule("most data", run(data=7, tensor=2)) == -7.0


@pytest.mark.parametrize(
    ("words", "much"), [("none", 0.0), ("selective core", 1.0), ("full", 2.0), ("some", 1.0)]
)
def test_recomputation_is_ranked_by_its_first_word(words, much):
    assert rule("least recompute", run(recompute=words)) == much


def test_share_of_a_device_is_the_batch_over_the_devices():
    stated = run(global_batch=96, **CUT, micro_batch=3.0)
    assert (share(stated), step_samples(stated)) == (2.0, 96.0)
    assert model_devices(stated) == 24
    # 48 devices are two replicas of 48 samples each, in micro-batches of three.
    assert passes(stated) == 16.0


def test_share_of_a_device_follows_from_the_micro_batches_where_no_batch_is_stated():
    stated = run(**CUT, micro_batch=6.0, accumulation=8)
    assert (share(stated), step_samples(stated), passes(stated)) == (2.0, 96.0, 8.0)
    once = run(**CUT, micro_batch=6.0)
    assert (share(once), step_samples(once), passes(once)) == (0.25, 12.0, 1.0)


def test_stated_passes_go_before_those_that_follow_from_the_batch():
    assert passes(run(global_batch=96, micro_batch=3.0, accumulation=5)) == 5.0


def test_batches_that_nothing_tells_are_not_known():
    alone = run(tensor=2)
    assert (share(alone), step_samples(alone), passes(alone)) == (None, None, None)
    assert passes(run(global_batch=96)) is None
    nowhere = replace(run(micro_batch=6.0), place=Place())
    assert (share(nowhere), step_samples(nowhere)) == (6.0, None)
    assert share(replace(alone, global_batch=96, place=Place())) is None
