"""Exchanges inside a layer: a share of them hides behind what the layer computes, and no more."""

from dataclasses import replace

import pytest
from tests.step.prices import parts, seconds

from foretrain.plan.plan import Plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.trainers.software import Execution, Software
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

DENSE = Workload(model=build("llama-3-8b", sequence=4096), global_batch=8)
SPARSE = Workload(model=build("qwen3-30b-a3b", sequence=1024), global_batch=8)
DIVIDED = Plan(tensor=8, sequence_parallel=True)
EXPERTS = Plan(data=8, expert=8)
SHARES = (0.0, 0.25, 0.5, 1.0)


def of(workload, share, *, software=None, **changes):
    values = {"overlap.tensor": share, "overlap.experts": share, "host.launch": 0.0, **changes}
    return setting(
        workload,
        cluster("dgx-h100", nodes=1),
        DEFAULT.changed(values),
        software=software or Software(),
    )


@pytest.mark.parametrize(
    ("workload", "plan", "part"), [(DENSE, DIVIDED, "tensor"), (SPARSE, EXPERTS, "expert")]
)
def test_what_is_exposed_is_the_share_that_does_not_hide(workload, plan, part):
    exposed = [parts(of(workload, share), plan)[part] for share in SHARES]
    expected = [exposed[0] * (1 - share) for share in SHARES]
    # The lookup of the embedding computes nothing that could hide its sum.
    assert exposed[:3] == pytest.approx(expected[:3], rel=0.01)
    assert expected[-1] <= exposed[-1] < exposed[-2]


def test_exchanges_hide_behind_no_more_than_there_is_to_compute():
    slow = {"links.nvlink": 1e-4}
    seen, hidden = (seconds(of(DENSE, share, **slow), DIVIDED)[0] for share in (0.0, 1.0))
    computed = parts(of(DENSE, 0.0, **slow), DIVIDED)
    assert seen - (computed["forward"] + computed["backward"]) <= hidden < seen


@pytest.mark.parametrize(
    "software", [Software(overlaps=False), Software(execution=Execution.GRAPH)], ids=str
)
def test_software_that_does_not_cut_products_hides_nothing_of_the_tensor_axis(software):
    found = [seconds(of(DENSE, share, software=software), DIVIDED)[0] for share in SHARES]
    assert found == [found[0]] * len(SHARES)


def test_whole_tokens_are_added_up_after_the_product():
    plan = replace(DIVIDED, sequence_parallel=False)
    found = [seconds(of(DENSE, share), plan)[0] for share in SHARES]
    assert found == [found[0]] * len(SHARES)


def test_token_that_goes_once_to_a_member_takes_less_than_a_copy_for_each_expert():
    once, each = (
        parts(of(SPARSE, 0.0, software=Software(once=once)), EXPERTS)["expert"]
        for once in (True, False)
    )
    # Eight experts of eight members: 8 (1 - (7/8)^8) = 5.25 of 8 copies.
    assert once / each == pytest.approx(5.251 / 8, rel=0.1)
