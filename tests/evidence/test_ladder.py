"""Plans of which any may be meant: the first that fits is taken, all that fit are timed."""

from dataclasses import replace

from foretrain.plan.plan import Plan, Recompute
from foretrain.step.alternatives import climb
from foretrain.step.price import price_plan
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

PLAN = Plan(data=1, tensor=8, micro_batch=8, sequence_parallel=True)
LADDER = tuple(
    replace(PLAN, recompute=recompute, recompute_layers=layers)
    for recompute, layers in ((Recompute.NONE, 0), (Recompute.FULL, 12), (Recompute.FULL, 0))
)
MODEL = build("gpt-3-6.7b", sequence=2048)


def setting_with(memory: float):
    nodes = cluster("dgx-a100", 1)
    nodes = replace(nodes, device=replace(nodes.device, memory=memory))
    return setting(Workload(model=MODEL, global_batch=8), nodes, DEFAULT)


def needs(plan: Plan) -> float:
    return price_plan(setting_with(1e15), plan, played=False).memory.total


def test_the_lightest_is_taken_where_all_fit_and_all_are_timed():
    found = climb(setting_with(1e15), LADDER)
    assert found.plan == LADDER[0]
    assert list(found.seconds) == sorted(found.seconds)
    assert len(found.seconds) == 3


def test_a_step_is_that_of_the_plan_priced_alone():
    room = setting_with(1e15)
    alone = [price_plan(room, plan, played=False).closed_form for plan in LADDER]
    assert list(climb(room, LADDER).seconds) == alone


def test_the_first_that_fits_is_taken_and_the_others_are_not_timed():
    found = climb(setting_with(needs(LADDER[1])), LADDER)
    assert found.plan == LADDER[1]
    assert len(found.seconds) == 2


def test_the_last_is_taken_where_none_fits():
    found = climb(setting_with(1e3), LADDER)
    assert (found.plan, found.seconds) == (LADDER[-1], ())
