"""Shapes: what stays of a plan when its replicas change, and which shapes are one plan."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.plan.scalar_enumerator import Case, neutral, placement
from tests.random_nouns import questions
from tests.small import gpt_study, listed

from foretrain.plan.plan import AXES, Plan, Recompute, Sharding
from foretrain.plan.shape import Room, on, shapes_of
from foretrain.plan.study import Space
from foretrain.step.price import price_plan
from foretrain.workload.operator import Attention

ROOM = Room(devices=16, levels=(8, 2))
HALF = Room(devices=8, levels=(8, 1))


def room_of(cluster):
    return Room(devices=cluster.devices, levels=tuple(level.members for level in cluster.levels))


def test_replicas_take_the_devices_that_are_left():
    assert on(Plan(tensor=2, pipeline=2), 16) == Plan(tensor=2, pipeline=2, data=4)


def test_devices_that_no_number_of_replicas_fills_have_no_plan():
    assert on(Plan(tensor=8), 12) is None
    assert on(Plan(tensor=8), 4) is None


def test_shard_of_all_replicas_is_called_by_its_own_name():
    sharded = Plan(tensor=2, sharding=Sharding.PARAMETERS, shard=4)
    assert on(sharded, 16).shard == 4
    assert on(sharded, 8).shard == 0


def test_shard_of_all_replicas_is_not_all_copies_of_experts_that_a_replica_holds_twice():
    sharded = Plan(tensor=2, sharding=Sharding.OPTIMIZER, shard=4)
    assert on(sharded, 8, experts=True).shard == 4
    assert on(replace(sharded, expert_tensor=2), 8, experts=True).shard == 0
    [alone] = shapes_of(
        replace(sharded, data=4, shard=0), HALF, rooms=[HALF], spaces=[Space()], experts=True
    )
    assert alone.shard == 0


def test_plan_is_a_shape_of_itself():
    study = gpt_study(space=Space(micro_batch=(1,)))
    room = room_of(study.cluster)
    for plan in listed(study)[::50]:
        shapes = shapes_of(plan, room, rooms=[room], spaces=[study.space])
        assert [on(shape, room.devices) for shape in shapes if shape.shard in (0, plan.shard)] == [
            plan
        ] or plan.data * plan.context == 1


def test_shard_may_be_all_replicas_here_and_some_of_them_elsewhere():
    plan = Plan(data=4, tensor=2, sharding=Sharding.OPTIMIZER)
    shapes = shapes_of(plan, HALF, rooms=[HALF, ROOM], spaces=[Space(order=(AXES,))])
    assert {shape.shard for shape in shapes} == {0, 4}
    assert {on(shape, 16).shard for shape in shapes} == {0, 4}
    assert {on(shape, 8) for shape in shapes} == {plan}


def test_one_replica_may_stand_for_every_way_to_shard():
    space = Space(sharding=(Sharding.NONE, Sharding.OPTIMIZER))
    shapes = shapes_of(Plan(tensor=8), HALF, rooms=[HALF, ROOM], spaces=[space])
    assert {shape.sharding for shape in shapes} == {Sharding.NONE, Sharding.OPTIMIZER}


def test_orders_that_lie_alike_here_are_told_apart_where_they_do_not():
    plan = Plan(data=4, tensor=2)
    alone = shapes_of(plan, HALF, rooms=[HALF], spaces=[Space()])
    both = shapes_of(plan, HALF, rooms=[HALF, ROOM], spaces=[Space()])
    assert len(alone) == 1
    assert len({shape.order for shape in both}) == 2


def test_orders_that_a_space_leaves_out_are_no_shapes():
    plan = Plan(data=4, tensor=2)
    [shape] = shapes_of(plan, HALF, rooms=[HALF, ROOM], spaces=[Space(), Space(order=(AXES,))])
    assert shape.order == AXES


@few(30)
@given(st.data())
def test_all_shapes_of_a_plan_take_what_it_takes(data):
    question, [plan] = data.draw(questions())
    room = room_of(question.cluster)
    found = price_plan(question, plan, played=False)
    space = Space(order=None, reshard=(True, False))
    experts = bool(question.workload.model.experts)
    for shape in shapes_of(plan, room, rooms=[room, ROOM], spaces=[space], experts=experts):
        again = price_plan(question, on(shape, room.devices, experts=experts), played=False)
        assert again.step_time == found.step_time
        assert replace(again.memory, stages=()) == replace(found.memory, stages=())


GROWING = Case(
    levels=ROOM.levels,
    batch=16,
    layers=8,
    tokens=1024,
    tensor_parts=(16,),
    kernels=(Attention.FLASH,),
)
SPACE = Space(
    tensor=(1, 2, 4),
    pipeline=(1, 2),
    interleaving=(1,),
    micro_batch=(1,),
    sequence_parallel=(False,),
    recompute=(Recompute.NONE,),
    attention=(Attention.FLASH,),
    reshard=(True, False),
)


def lying(plan, room):
    """A plan under one name, and how its groups lie."""
    return neutral(replace(plan, order=AXES), GROWING), placement(plan, room.levels)


def test_plan_has_the_shape_of_every_plan_that_is_the_same_on_fewer_devices():
    """Shards and orders that come to the same on eight devices are several on sixteen."""
    study = gpt_study(space=SPACE)
    grown = [plan for plan in listed(study) if on(replace(plan, data=1), HALF.devices)]
    assert len(grown) > 100
    for plan in grown[::3]:
        here = neutral(on(replace(plan, data=1), HALF.devices), GROWING)
        shapes = shapes_of(here, HALF, rooms=[HALF, ROOM], spaces=[SPACE])
        assert lying(plan, ROOM) in [lying(on(shape, 16), ROOM) for shape in shapes]
        assert {lying(on(shape, 8), HALF) for shape in shapes} == {lying(here, HALF)}
        assert len(shapes) == len(set(shapes))
