"""Provenance: an answer names the set that it was made with, and says where each value is from."""

from dataclasses import replace

from tests import small

from foretrain.evidence.calibrate import WIDTHS, anchored
from foretrain.plan.study import Space
from foretrain.show.document import of_study
from foretrain.study.coefficients import SHIPPED

STUDY = small.llama_study(space=Space(micro_batch=(1,)))
MINE = replace(anchored(STUDY, 1.0, anyway=True), name="mine").coefficients


def kinds(coefficients):
    """Where each value comes from, by name."""
    return {it.name: it.kind for it in of_study(STUDY, coefficients=coefficients).sources}


def test_an_answer_names_its_set():
    assert of_study(STUDY).coefficients == SHIPPED.name
    assert of_study(STUDY, coefficients=MINE).coefficients == "mine"


def test_values_are_of_the_kind_that_their_set_says():
    shipped = {name: it.kind for name, it in SHIPPED.known.items()}
    assert kinds(SHIPPED.coefficients) == shipped
    assert kinds(MINE) == shipped | {
        "step.factor": "measured",
        **{name: shipped[anchored] for name, anchored in WIDTHS.items()},
    }


def test_a_value_that_is_changed_afterwards_is_given():
    changed = kinds(MINE.changed({"links.nvlink": 0.5}))
    assert (changed["links.nvlink"], changed["step.factor"]) == ("given", "measured")
