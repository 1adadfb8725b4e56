"""Documents: the JSON that other programs read."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from math import inf, nan

import pytest
from tests import builders

from foretrain.errors import InputError
from foretrain.plan.plan import Recompute, Sharding
from foretrain.plan.study import Objective
from foretrain.show.document import document, fingerprint, plain

ENVELOPE = ["schema", "foretrain", "inputs", "coefficients"]


def estimate_document(**changes):
    return document("estimate", builders.estimate(**changes), builders.provenance())


def test_every_document_says_its_schema_version_inputs_and_coefficients_first():
    answer = estimate_document()
    assert list(answer)[:4] == ENVELOPE
    assert [answer[key] for key in ENVELOPE] == [
        "foretrain/estimate/1",
        "0.1.0",
        "4f2a" * 16,
        "default-1",
    ]


def test_plan_is_written_in_lower_case_words_and_lists():
    plan = estimate_document()["plan"]
    assert (plan["sharding"], plan["recompute"]) == ("optimizer", "selective")
    assert (plan["attention"], plan["sends"]) == ("flash", "overlapped")
    assert plan["order"] == ["tensor", "context", "data", "pipeline"]
    assert plan["sequence_parallel"] is True


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_what_is_not_finite_is_an_error_that_says_where(value):
    with pytest.raises(InputError, match="a number of the answer is"):
        plain(value)
    with pytest.raises(InputError, match=re.escape(f"a[1].b of the answer is {value}")):
        plain({"a": (1.0, {"b": value})})
    assert len(fingerprint(value)) == 64


@pytest.mark.parametrize(
    ("value", "text"),
    [(Sharding.NONE, "none"), (Recompute.FULL, "full"), (Objective.TIME, "time")],
)
def test_enums_are_lower_case_words(value, text):
    assert plain(value) == text


def test_what_has_no_place_in_json_is_refused():
    with pytest.raises(TypeError, match="set"):
        plain({1, 2})


def test_same_answer_is_the_same_text():
    first, second = (json.dumps(estimate_document()) for _ in range(2))
    assert first == second


def test_document_survives_strict_json():
    answer = estimate_document()
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_fingerprint_changes_with_the_question_and_only_then():
    study = builders.study()
    same, other = builders.study(), replace(study, objective=Objective.COST)
    assert fingerprint(study) == fingerprint(same)
    assert fingerprint(study) != fingerprint(other)
    assert len(fingerprint(study)) == 64


def test_what_a_cluster_can_say_besides_changes_no_fingerprint_of_those_that_say_nothing():
    plain_cluster = builders.study().cluster
    own = replace(plain_cluster, collectives=(("all_reduce", "own.module:seconds"),))
    assert "collectives" not in plain(plain_cluster)
    assert fingerprint(own) != fingerprint(plain_cluster)


def test_a_fingerprint_in_pieces_is_that_of_the_whole_document():
    values = ({"b": [*range(150)], "a": (1.5, float("inf"), {})}, frozenset({"y", "x"}), ())
    many = ",".join(map(str, range(150)))
    whole = '[{"a":[1.5,null,{}],"b":[' + many + ']},["x","y"],[]]'
    assert fingerprint(*values) == sha256(whole.encode()).hexdigest()
