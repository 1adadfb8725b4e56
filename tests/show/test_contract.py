"""The contract of the JSON documents: keys and laws, of what the verbs really answer.

The keys are written out: a document may have more, other programs rely on these.
"""

import pytest
from tests import small
from tests.tables import published

from foretrain.evidence.validate import validate
from foretrain.plan.plan import Recompute, Sharding
from foretrain.plan.study import Space
from foretrain.search.search import search
from foretrain.show.document import document, of_study, provenance
from foretrain.step.estimate import estimate

ENVELOPE = "schema foretrain inputs coefficients"
ESTIMATE = """
    plan step_time closed_form step_time_low step_time_high parts memory samples_per_second
    tokens_per_second_per_device model_flops_per_second_per_device mfu hfu cost_per_step
    energy_per_step epoch_time start_time goodput time_to_train time_to_train_low
    time_to_train_high job fits probability_fits reason confidence warnings
    sources
"""
JOB = """
    start_time goodput parts checkpoint_bytes checkpoint_interval checkpoint_seconds failures
"""
JOB_PARTS = "start steps cold_input evaluation checkpoints lost restarts"
PARTS = """
    forward backward recompute update tensor context expert pipeline bubble gradients parameters
    halo layer servers input other
"""
ADDED = {"offload", "host"}
"""Parts that the contract does not name: decisions 008 and 067."""
STAGE = "weights gradients optimizer activations buffers total"
MEMORY = f"{STAGE} low high stages"
CONFIDENCE = "inside_calibration nearest"
SEARCH = "best plans pareto space priced excluded_by_bound rejected seconds proven_optimal"
VALIDATE = "rows summary"
ROW = "id source_id quantity measured predicted low high error status reason"
SUMMARY = """
    source_id quantity rows predicted mape median p90 bias interval_coverage interval_width
"""
ONE_PLAN = Space(
    tensor=(2,),
    pipeline=(4,),
    interleaving=(2,),
    micro_batch=(1,),
    sharding=(Sharding.OPTIMIZER,),
    recompute=(Recompute.FULL,),
)


def lacking(record, keys):
    """The keys of a list that a record of a document lacks."""
    return set(keys.split()) - set(record)


@pytest.fixture(scope="module")
def estimated():
    study = small.gpt_study(space=ONE_PLAN)
    return document("estimate", estimate(study), of_study(study))


@pytest.fixture(scope="module")
def searched():
    """A search of which some plans do not fit."""
    study = small.with_memory(small.llama_study(), 3e9)
    return document("search", search(study, keep=3), of_study(study))


@pytest.fixture(scope="module")
def validated():
    runs = [
        *published("memory"),
        *published("cnn_training")[::8],
    ]
    return document("validate", validate(runs), provenance(runs))


def test_estimate_has_the_keys_of_the_contract(estimated):
    assert not lacking(estimated, f"{ENVELOPE} {ESTIMATE}")
    assert not lacking(estimated["memory"], MEMORY)
    assert not any(lacking(stage, STAGE) for stage in estimated["memory"]["stages"])
    assert not lacking(estimated["confidence"], CONFIDENCE)
    assert not lacking(estimated["job"], JOB)
    assert not lacking(estimated["job"]["parts"], JOB_PARTS)
    assert set(estimated["parts"]) <= {*PARTS.split(), *ADDED}


def test_parts_add_up_to_the_step(estimated):
    assert all(seconds >= 0 for part, seconds in estimated["parts"].items() if part != "other")
    assert sum(estimated["parts"].values()) == pytest.approx(estimated["step_time"], rel=1e-12)


def test_parts_of_the_job_add_up_to_the_time_to_train(estimated):
    parts = estimated["job"]["parts"]
    assert sum(parts.values()) == pytest.approx(estimated["time_to_train"], rel=1e-12)
    useful = estimated["goodput"] * (estimated["time_to_train"] - estimated["start_time"])
    assert useful == pytest.approx(parts["steps"], rel=1e-12)


def test_memory_of_a_device_adds_up_to_its_total(estimated):
    memory = estimated["memory"]
    for held in (memory, *memory["stages"]):
        pieces = sum(held[key] for key in STAGE.split() if key != "total")
        assert pieces == pytest.approx(held["total"], rel=1e-12)
    assert memory["total"] == max(stage["total"] for stage in memory["stages"])


def test_intervals_hold_their_values(estimated):
    assert estimated["step_time_low"] < estimated["step_time"] < estimated["step_time_high"]
    assert estimated["memory"]["low"] < estimated["memory"]["total"] < estimated["memory"]["high"]


def test_search_has_the_keys_of_the_contract(searched):
    assert not lacking(searched, f"{ENVELOPE} {SEARCH}")
    for entry in (searched["best"], *searched["plans"]):
        assert not lacking(entry, "plan estimate")
        assert not lacking(entry["estimate"], ESTIMATE)


def test_search_counts_add_up_to_the_space(searched):
    rejected = sum(searched["rejected"].values())
    assert rejected > 0
    assert searched["priced"] + searched["excluded_by_bound"] + rejected == searched["space"]


def test_best_plan_is_the_first_of_the_ranking(searched):
    assert len(searched["plans"]) == 3
    assert searched["best"] == searched["plans"][0]
    times = [entry["estimate"]["step_time"] for entry in searched["plans"]]
    assert times == sorted(times)


def test_validate_has_the_keys_of_the_contract(validated):
    assert not lacking(validated, f"{ENVELOPE} {VALIDATE}")
    assert not any(lacking(row, ROW) for row in validated["rows"])
    assert not any(lacking(line, SUMMARY) for line in validated["summary"])


def test_validate_says_quantity_and_status_in_the_words_of_the_contract(validated):
    quantities = {row["quantity"] for row in validated["rows"]}
    assert quantities <= {"step_time", "peak_memory", "transfer_time", "throughput"}
    assert {row["status"] for row in validated["rows"]} <= {"predicted", "not_predicted", "skipped"}


def test_error_of_a_row_is_predicted_over_measured_less_one(validated):
    scored = [row for row in validated["rows"] if row["status"] == "predicted"]
    assert scored
    for row in scored:
        assert row["error"] == pytest.approx(row["predicted"] / row["measured"] - 1)


def test_every_row_is_counted_in_one_line_of_the_summary(validated):
    assert sum(line["rows"] for line in validated["summary"]) == len(validated["rows"])
    scored = [row for row in validated["rows"] if row["status"] == "predicted"]
    assert sum(line["predicted"] for line in validated["summary"]) == len(scored)
