"""What a trainer does unasked, and a plan makes idle, is nothing that a study was wrong about."""

import pytest

from foretrain.step.estimate import estimate
from foretrain.study.study import study_from

PLAN = {"tensor": 1, "context": 1, "pipeline": 1, "micro_batch": 1, "sharding": "parameters"}


def answered(**plan):
    document = {
        "workload": {"model": "llama-3-8b", "global_batch": 16, "sequence": 8192},
        "cluster": {"name": "dgx-h100", "nodes": 2},
        "trainer": {"name": "torchtitan"},
        "plan": PLAN | plan,
    }
    return estimate(study_from(document, "study"), played=False)


@pytest.mark.parametrize(("plan", "told"), [({}, False), ({"sequence_parallel": True}, True)])
def test_an_idle_field_is_told_where_the_study_says_it(plan, told):
    found = " ".join(answered(**plan).warnings)
    assert ("plan.sequence_parallel = true has no effect" in found) is told
