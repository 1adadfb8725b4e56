"""Rules: around every legal plan they refuse just what the scalar enumerator does not list."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.plan.scalar_enumerator import Case, choices, neutral, of_degrees
from tests.small import expert_study, long_study

from foretrain.cluster.offer import whole
from foretrain.plan.choices import SEARCHED
from foretrain.plan.legality import device_problems, problems, workload_problems
from foretrain.plan.plan import SAID, ContextExchange, Recompute, Schedule, Sharding
from foretrain.plan.rules import LARGEST_FACTORED, nearest_divisors
from foretrain.plan.study import Space
from foretrain.workload.operator import Attention

EXPERTS = expert_study()
LONG = long_study()
EVERY = {
    "kernels": tuple(Attention),
    "schedules": tuple(Schedule),
    "recompute_layers": (0, 1, 3),
    "cuts": ("even", "balanced"),
}
CASES = {
    "experts": (
        EXPERTS,
        Case(
            levels=(2, 2),
            batch=4,
            layers=4,
            tokens=256,
            tensor_parts=(8, 4, 2048, 512, 16_384),
            key_heads=4,
            experts=4,
            expert_columns=512,
            **EVERY,
        ),
    ),
    "long": (
        LONG,
        Case(
            levels=(4, 1),
            batch=4,
            layers=6,
            tokens=512,
            tensor_parts=(12, 6, 2304, 30_720),
            key_heads=6,
            **EVERY,
        ),
    ),
}
VALUES = {
    **dict.fromkeys(("data", "tensor", "context", "pipeline"), (1, 2, 3, 4)),
    **dict.fromkeys(("expert", "expert_tensor", "micro_batch"), (1, 2, 3, 4)),
    "interleaving": (1, 2, 3),
    "sequence_parallel": (False, True),
    "exchange": SEARCHED,
    "sharding": tuple(Sharding),
    "shard": (0, 1, 2, 3, 4),
    "recompute": tuple(Recompute),
    "recompute_layers": (0, 1, 3, 6, 7),
    "attention": tuple(Attention),
    "schedule": tuple(Schedule),
    "cut": ("even", "balanced"),
}
SAMPLE = 40
"""Legal plans of a case, evenly spread, around which everything is tried."""


@cache
def legal(name):
    """The legal plans of a case in one order, each under its neutral name."""
    _, case = CASES[name]
    return tuple(choice for plan in of_degrees(case) for choice in choices(plan, case))


def spread(many, count):
    return [many[place * len(many) // count] for place in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_plan_one_field_away_from_a_legal_one_is_legal_if_it_is_listed(name):
    study, case = CASES[name]
    every = frozenset(legal(name))
    seen = {True: 0, False: 0}
    for plan in spread(legal(name), SAMPLE):
        for field, values in VALUES.items():
            for value in values:
                other = replace(plan, **{field: value})
                found = problems(study.workload, study.cluster, other)
                listed = neutral(other, case) in every
                assert listed is (not found), (str(other), found)
                seen[listed] += 1
    assert min(seen.values()) > 100


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_a_space_that_has_a_legal_plan(name):
    """Whatever two fields of a legal plan are free, alone or with choices beside the legal one."""
    study, _ = CASES[name]
    pairs = [*combinations(VALUES, 2)]
    for number, plan in enumerate(spread(legal(name), 3 * SAMPLE)):
        known = {name: (getattr(plan, name),) for name in SAID}
        first, second = pairs[number * len(pairs) // (3 * SAMPLE)]
        space = Space(**{**known, first: None, second: VALUES[second]})
        assert device_problems([whole(study.cluster)], space) == []
        assert workload_problems(study.workload, space) == []


FIXED = [
    ({"data": 3}, "plan.data: 3 does not divide the cluster's 4 devices."),
    ({"data": 4, "micro_batch": 2}, "plan.micro_batch: 2 does not divide the 1 samples of a"),
    ({"micro_batch": 3}, "plan.micro_batch: 3 does not divide 4 samples"),
    ({"expert": 8}, "plan.expert: 8 does not divide the 4 experts"),
    ({"expert_tensor": 3}, "plan.expert_tensor: 3 does not divide the 512 columns"),
    ({"tensor": 4, "expert_tensor": 2}, "plan.expert_tensor: 2 is neither 1 nor plan.tensor"),
    ({"tensor": 2, "expert": 2, "sequence_parallel": False}, "plan.sequence_parallel: must"),
    ({"data": 1, "context": 1, "tensor": 2, "expert": 4}, "plan.expert: plan.expert x plan"),
    ({"data": 2, "context": 2, "shard": 3}, "plan.shard: 3 devices cannot share one copy"),
    ({"recompute_layers": 5}, "plan.recompute_layers: small-mixture has 4 layers, fewer than"),
    ({"pipeline": 2, "interleaving": 3}, "plan.interleaving: 2 stages x 3 chunks do not"),
    ({"pipeline": 3, "cut": "even"}, "plan.pipeline: 3 stages do not divide the 4 layers"),
    ({"pipeline": 2, "interleaving": 1, "cut": (1, 2)}, "plan.cut: 2 numbers that add up to 3"),
    ({"pipeline": 1, "interleaving": 2}, "plan.interleaving: 2 chunks need plan.pipeline"),
    (
        {"pipeline": 2, "interleaving": 2, "schedule": Schedule.GPIPE},
        "plan.interleaving: the schedule gpipe has one chunk",
    ),
    (
        {"pipeline": 2, "interleaving": 2, "data": 2, "micro_batch": 2},
        "plan.interleaving: 1 micro-batches (workload.global_batch",
    ),
    ({"tensor": 4, "sequence_parallel": True, "context": 128}, "plan.sequence_parallel: plan"),
    ({"context": 256}, "plan.context: 256 members, two blocks of tokens each, do not divide"),
    (
        {"context": 2, "exchange": ContextExchange.RING, "attention": Attention.PLAIN},
        "plan.exchange: a ring needs plan.attention = 'flash'",
    ),
    (
        {"context": 8, "exchange": ContextExchange.ALL_TO_ALL},
        "plan.exchange: plan.tensor x plan.context = 8 cannot share the 4 key-value heads",
    ),
    ({"tensor": 3}, "plan.tensor: 3 cannot split "),
]


@pytest.mark.parametrize(("fixed", "message"), FIXED, ids=str)
def test_few_fields_that_no_plan_can_have_together_are_told_and_fewer_of_them_are_not(
    fixed, message
):
    def told(known):
        space = Space(**{name: (value,) for name, value in known.items()})
        return device_problems([whole(EXPERTS.cluster)], space) + workload_problems(
            EXPERTS.workload, space
        )

    assert any(text.startswith(message) for text in told(fixed)), told(fixed)
    for name in fixed:
        fewer = {key: value for key, value in fixed.items() if key != name}
        assert not any(text.startswith(message) for text in told(fewer))


@few(50)
@given(value=st.integers(1, 400), number=st.integers(1, 400))
def test_nearest_divisors_are_the_ones_beside_a_value(value, number):
    dividing = [each for each in range(1, number + 1) if number % each == 0 and each != value]
    near = [*[d for d in dividing if d < value][-1:], *[d for d in dividing if d > value][:1]]
    assert nearest_divisors(value, number) == f" Nearest that do: {' and '.join(map(str, near))}."
    assert nearest_divisors(value, LARGEST_FACTORED * number + 1) == ""
