"""Degrees: every way to write a number of devices as a product, and no other."""

from dataclasses import replace
from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_models import models

from foretrain.plan.choices import (
    chosen,
    divides_tokens,
    divisors,
    question_of,
    shares_channels,
    shares_pictures,
)
from foretrain.plan.enumeration import degrees_of
from foretrain.plan.plan import cuts_into
from foretrain.plan.study import Space
from foretrain.workload.workload import Workload

counts = st.lists(st.sampled_from([1, 2, 3, 6, 8, 12, 16, 24]), min_size=1, max_size=3)
batches = st.sampled_from([1, 4, 6, 12, 24])
few_degrees = st.none() | st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1).map(tuple)
spaces = st.builds(
    Space,
    data=few_degrees,
    tensor=few_degrees,
    context=few_degrees,
    pipeline=few_degrees,
    interleaving=st.sampled_from([None, (1,), (2,)]),
    cut=st.sampled_from([("even",), ("balanced",), ("even", (1, 2)), ((3, 1, 1),)]),
)


def stages(question, pipeline):
    """Whether some number of chunks can be cut in some way."""
    layers, space = question.model.cuttable_layers, question.space
    every = range(1, 1 + (layers // pipeline if pipeline > 1 else 1))
    chunks = [pipeline * each for each in chosen(every, space.interleaving)]
    return any(
        cuts_into(cut, layers, pipeline=pipeline, chunks=each)
        for cut in space.cut
        for each in chunks
    )


def slowly(question, devices):
    """Every product, tried one by one."""
    space = question.space
    found = []
    for tensor, context, data, pipeline in product(divisors(devices), repeat=4):
        if prod((tensor, context, data, pipeline)) != devices:
            continue
        asked = zip(
            (tensor, context, data, pipeline),
            (space.tensor, space.context, space.data, space.pipeline),
            strict=True,
        )
        legal = (
            all(choices is None or degree in choices for degree, choices in asked)
            and not any(units % tensor for units in question.units)
            and (divides_tokens(question.model, context) or shares_pictures(question, context))
            and shares_channels(question, tensor)
            and question.workload.global_batch % data == 0
            and stages(question, pipeline)
        )
        if legal:
            found.append((tensor, context, data, pipeline))
    return found


@few(100)
@given(model=models, batch=batches, devices=counts, space=spaces)
def test_degrees_are_those_of_a_loop_over_all_products(model, batch, devices, space):
    question = question_of(Workload(model=model, global_batch=batch), space)
    found = [*degrees_of(question, devices)]
    assert len(found) == len(set(found))
    assert set(found) == {each for count in set(devices) for each in slowly(question, count)}


@few(50)
@given(model=models, batch=batches, devices=counts)
def test_more_numbers_of_devices_only_add_degrees(model, batch, devices):
    question = question_of(Workload(model=model, global_batch=batch), Space())
    several = set(degrees_of(question, devices))
    assert all(set(degrees_of(question, [count])) <= several for count in devices)


@few(50)
@given(model=models, batch=batches, devices=counts)
def test_one_replica_can_always_take_the_whole_batch(model, batch, devices):
    """What a batch divides is a choice among replicas alone."""
    workload = Workload(model=model, global_batch=batch)
    alone = {each for each in degrees_of(question_of(workload, Space()), devices) if each[2] == 1}
    bigger = question_of(replace(workload, global_batch=2 * batch), Space())
    assert alone == {each for each in degrees_of(bigger, devices) if each[2] == 1}
