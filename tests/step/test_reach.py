"""Models that nothing measured speaks for are refused, by what they consist of and not by name."""

from dataclasses import replace

import pytest
from tests.small import cluster, gpt_study

from foretrain.coefficients.uncertainty import NOTHING
from foretrain.errors import MissingCoefficient
from foretrain.plan.study import Space, Study
from foretrain.search.search import search
from foretrain.step.estimate import estimate
from foretrain.step.setting import FARTHEST, refuse_beyond
from foretrain.study.coefficients import DEFAULT, SHIPPED
from foretrain.study.study import study_from
from foretrain.workload.convolution.recommendation import deep_learning_recommendation
from foretrain.workload.library.entries import SampleKind, build, entries
from foretrain.workload.workload import Workload

SIZES = {
    SampleKind.TOKENS: {"sequence": 512},
    SampleKind.IMAGE: {"image": 224},
    SampleKind.NOTHING: {},
}
TABLES = {"dlrm", "wide-and-deep", "ncf"}
"""Entries of which almost all parameters are rows that are looked up."""


def model(name):
    return build(name, **SIZES[entries()[name].reads])


def refused(name):
    try:
        refuse_beyond(model(name), SHIPPED.covers)
    except MissingCoefficient:
        return True
    return False


def test_library_is_refused_where_rows_are_looked_up_and_nowhere_else():
    assert {name for name in entries() if refused(name)} == TABLES


def test_refusal_follows_what_was_fitted_to():
    dlrm = model("dlrm")
    refuse_beyond(dlrm, NOTHING)
    refuse_beyond(dlrm, replace(SHIPPED.covers, multiplied=dlrm.multiplied))
    with pytest.raises(MissingCoefficient, match=r"0\.06% of its parameters.* 71% or more"):
        refuse_beyond(dlrm, SHIPPED.covers)
    edge = replace(SHIPPED.covers, multiplied=dlrm.multiplied / FARTHEST)
    refuse_beyond(dlrm, edge)
    with pytest.raises(MissingCoefficient):
        refuse_beyond(dlrm, replace(edge, multiplied=1.01 * edge.multiplied))


def test_network_with_small_tables_is_no_network_of_tables():
    small = deep_learning_recommendation(rows=(10,) * 26, width=128).model("small tables")
    refuse_beyond(small, SHIPPED.covers)


@pytest.mark.parametrize("verb", [estimate, search])
def test_every_question_about_a_network_of_tables_is_refused(verb):
    study = Study(
        workload=Workload(model=model("dlrm"), global_batch=4096),
        cluster=cluster(nodes=1, node_devices=4),
        space=Space(micro_batch=(64,)) if verb is estimate else Space(),
    )
    with pytest.raises(MissingCoefficient, match="a step of dlrm is not known"):
        verb(study)


def answered(model, **sample):
    document = {
        "workload": {"model": model, "global_batch": 64, "precision": "fp16", **sample},
        "cluster": {"name": "dgx-a100", "nodes": 1},
        "plan": {"micro_batch": 8, "recompute": "none"},
    }
    return estimate(study_from(document, "study"), played=False)


def ratio(found):
    return found.step_time_high / found.step_time_low


def test_samples_that_no_run_had_widen_the_interval_and_are_told():
    known, strange = answered("resnet-50", image=224), answered("jasper", sequence=1000)
    assert known.confidence.inside_calibration
    assert not strange.confidence.inside_calibration
    assert "no run whose samples are tokens of signals" in strange.confidence.outside
    assert ratio(strange) > ratio(known) ** 1.4


def test_confidence_is_that_of_the_case():
    """What is near and what is outside changes with the model and the device."""
    found = [
        answered("resnet-50", image=224),
        answered("llama-3-8b", sequence=2048),
        answered("bert-large", sequence=512),
        answered({"parameters": "25.6 M", "flop": "8.2 GFLOP", "activations": "11.1 M"}),
    ]
    nearest = [each.confidence.nearest[0].id for each in found]
    assert nearest[0] != nearest[1] != nearest[2]
    assert [each.confidence.inside_calibration for each in found] == [True, True, True, False]
    assert "known by its totals only" in found[-1].confidence.outside


def test_everything_in_reach_is_priced_as_before():
    study = gpt_study()
    free = replace(DEFAULT, covers=replace(DEFAULT.covers, multiplied=0.0))
    assert (
        search(study).best.estimate.step_time
        == search(study, coefficients=free).best.estimate.step_time
    )
