"""largest: what it finds fits, the next size does not, and a loop finds the same."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from tests.examples import every
from tests.small import (
    HOST,
    cluster,
    expert_study,
    gpt_study,
    llama_study,
    loose,
    mixture,
    with_memory,
)

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.offer import Offer
from foretrain.errors import InputError, NoPlanFits
from foretrain.plan.choices import divisors
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.plan import Recompute, Sharding
from foretrain.plan.study import Maximise, Objective, Space, Study, sized
from foretrain.search.ladders import LONGEST
from foretrain.search.largest import largest
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.graph import Model, growing
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import Decoder, LanguageModel, decoder, language_model
from foretrain.workload.workload import Workload

GIB = 2.0**30
NARROW = Space(
    recompute=(Recompute.NONE, Recompute.FULL),
    sharding=(Sharding.OPTIMIZER,),
    shard=(0,),
    attention=None,
)


@cache
def grouped(tokens: int) -> Model:
    """A decoder with degrees that are no powers of two."""
    shape = Decoder(
        layers=6,
        hidden=768,
        feed_forward=2304,
        heads=12,
        kv_heads=6,
        vocabulary=30_720,
        gated=True,
    )
    return decoder("grouped", shape, sequence=tokens)


def long(tokens: int) -> Workload:
    """Its workload for samples of so many tokens."""
    return Workload(model=grouped(tokens), global_batch=12)


def on_twelve(maximise: Maximise, memory: float, **changes: object) -> Study:
    """The decoder on 12 devices; depths are those that stages divide."""
    even = {"cut": ("even",)} if maximise is Maximise.PARAMETERS else {}
    question = {
        "workload": long(512),
        "cluster": cluster(nodes=3, node_devices=4),
        "space": NARROW,
        "maximise": maximise,
        "lengthened": long,
        "limit": loose(),
    }
    study = Study(**(question | changes))
    return with_memory(replace(study, space=replace(study.space, **even)), memory)


def least(study: Study) -> float | None:
    """Bytes of a device that some plan of a study needs at least; None without a plan."""
    return _least(study.workload, with_memory(study, 1.0).cluster, study.space)


@cache
def _least(workload: Workload, cluster: Cluster, space: Space) -> float | None:
    """Counted once for devices of all sizes: what a plan needs is not what a device has."""
    question = setting(workload, cluster, DEFAULT)
    tables = plan_tables(workload, cluster, space)
    needs = [heaviest_total(question, hold(question, plans)).min() for plans in tables]
    return min(needs) if needs else None


def fits(study: Study, size: int) -> bool:
    """Whether some plan of a size fits, found plan by plan."""
    there = sized(study, size)
    needed = least(there)
    return needed is not None and needed <= there.cluster.device.memory


@pytest.mark.parametrize(
    ("memory", "shared"),
    every(
        4,
        product(
            [2.2 * GIB, 2.3 * GIB, 2.5 * GIB],
            [{}, {"context": (1,)}, {"tensor": (2, 6), "data": (1, 2)}],
        ),
        slow=1,
    ),
)
def test_longest_sequence_is_that_of_a_loop_over_lengths(memory, shared):
    study = on_twelve(Maximise.SEQUENCE, memory, space=replace(NARROW, **shared))
    answer = largest(study)
    above = range(answer.size, 3 * answer.size, 512)
    assert [size for size in above if fits(study, size)] == [answer.size]
    assert answer.next.size == next(size for size in above[1:] if least(sized(study, size)))


@pytest.mark.parametrize(
    ("memory", "shared"),
    every(
        4,
        product(
            [2.2 * GIB, 2.3 * GIB, 2.5 * GIB],
            [{}, {"pipeline": (1,)}, {"pipeline": (3, 4), "data": None}],
        ),
        slow=1,
    ),
)
def test_largest_model_is_that_of_a_loop_over_layers(memory, shared):
    study = on_twelve(Maximise.PARAMETERS, memory, space=replace(NARROW, **shared))
    answer = largest(study)
    above = range(answer.size, 2 * answer.size + 12)
    assert [size for size in above if fits(study, size)] == [answer.size]
    assert answer.next.size == next(size for size in above[1:] if least(sized(study, size)))


@pytest.mark.parametrize(
    ("memory", "shared"),
    every(
        4,
        product(
            [2.0 * GIB, 2.25 * GIB, 2.5 * GIB],
            [{}, {"recompute": (Recompute.NONE,)}, {"data": (2, 4)}],
        ),
        slow=1,
    ),
)
def test_largest_micro_batch_is_that_of_a_loop_over_divisors(memory, shared):
    study = on_twelve(Maximise.MICRO_BATCH, memory, space=replace(NARROW, **shared))
    legal = [size for size in divisors(12) if least(sized(study, size))]
    fitting = [size for size in legal if fits(study, size)]
    if not fitting:
        with pytest.raises(NoPlanFits, match="the smallest micro-batch, 1, needs at least"):
            largest(study)
        return
    answer = largest(study)
    assert answer.size == fitting[-1]
    assert [need.size for need in answer.growth] == fitting
    above = [size for size in legal if size > answer.size]
    assert (answer.next and answer.next.size) == (above[0] if above else None)


@pytest.mark.parametrize("maximise", Maximise)
def test_more_memory_never_gives_less(maximise):
    found = [largest(on_twelve(maximise, memory * GIB)).size for memory in (1.2, 1.25, 1.3, 1.5, 2)]
    assert found == sorted(found)
    assert found[0] < found[-1]


@pytest.mark.parametrize("maximise", Maximise)
def test_answer_is_whole(maximise):
    study = on_twelve(maximise, 3 * GIB)
    answer = largest(study)
    there = sized(study, answer.size)
    assert answer.parameters == there.workload.model.parameters
    assert answer.tokens == there.workload.model.tokens * 12
    assert answer.search.best.estimate.fits
    assert answer.growth[-1].size == answer.size
    assert answer.growth[-1].memory == pytest.approx(least(there), rel=1e-12)
    needs = [need.memory for need in answer.growth]
    assert needs == sorted(needs)
    assert answer.next is None or answer.next.memory > answer.next.room == 3 * GIB


def test_best_plan_is_the_best_by_the_objective():
    study = on_twelve(Maximise.MICRO_BATCH, 4 * GIB, objective=Objective.MEMORY)
    answer = largest(study)
    assert answer.search.best.plan.micro_batch == answer.size
    assert answer.search.best.estimate.memory.total == pytest.approx(answer.growth[-1].memory)


def test_model_of_several_kinds_of_layers_grows_in_one():
    space = replace(NARROW, micro_batch=(1,), interleaving=(1,))
    study = with_memory(expert_study(maximise=Maximise.PARAMETERS, space=space), 3 * GIB)
    answer = largest(study)
    there = sized(study, answer.size)
    assert growing(there.workload.model).repeats == answer.size - 1
    assert fits(study, answer.size)
    assert not any(fits(study, answer.size + more) for more in range(1, 9))
    assert there.workload.model.layers[1] == mixture(imbalance=1.2).layers[1]


def heavy_and_light() -> Model:
    """Three layers that are much larger than those after them."""
    heads = Heads(heads=8, kv_heads=8, width=64)
    runs = [
        Run(blocks=(Block(mixer=heads, feed_forward=FeedForward(width=width)),), repeats=repeats)
        for width, repeats in ((65_536, 3), (512, 4))
    ]
    shape = LanguageModel(
        hidden=512, embedding=Embedding(vocabulary=24), runs=tuple(runs), head=LanguageHead()
    )
    return language_model("heavy-and-light", shape, sequence=256)


@pytest.mark.parametrize(
    ("pipeline", "interleaving"),
    every(4, product([(1,), (2,), (2, 4)], [(1,), (2,), (1, 2)]), slow=1),
)
def test_deeper_model_may_fit_where_a_shallower_one_does_not(pipeline, interleaving):
    space = replace(
        NARROW,
        tensor=(1,),
        context=(1,),
        micro_batch=(1,),
        pipeline=pipeline,
        interleaving=interleaving,
        recompute=(Recompute.NONE,),
        sharding=(Sharding.NONE,),
    )
    workload = Workload(model=heavy_and_light(), global_batch=8)
    study = on_twelve(
        Maximise.PARAMETERS,
        80 * GIB,
        workload=workload,
        cluster=cluster(nodes=1, node_devices=4),
        space=space,
    )
    needs = {size: least(sized(study, size)) for size in range(4, 40)}
    room = sorted(need for need in needs.values() if need)
    for memory in room[: len(room) // 2 : 3]:
        fitting = [size for size, need in needs.items() if need and need <= memory]
        assert largest(with_memory(study, memory)).size == fitting[-1]


def test_largest_of_several_offers_is_the_largest_of_each():
    nodes = [cluster(nodes=many, node_devices=4) for many in (1, 2, 3)]
    offer = Offer(cluster=nodes[-1], nodes=(1, 2, 3))
    study = on_twelve(Maximise.PARAMETERS, 80 * GIB, space=replace(NARROW, context=(1,)))
    study = replace(study, limit=loose(memory=2.5 * GIB))
    together = largest(replace(study, offers=(offer,)))
    alone = [largest(replace(study, cluster=each)).size for each in nodes]
    assert together.size == max(alone)
    few = replace(study, offers=(offer,), limit=loose(memory=2.5 * GIB, devices=8))
    assert largest(few).size == max(alone[:2])


def test_limit_on_memory_counts_as_the_memory_of_a_device():
    limited = on_twelve(Maximise.SEQUENCE, 80 * GIB, limit=loose(memory=3 * GIB))
    answer = largest(limited)
    assert answer.size == largest(on_twelve(Maximise.SEQUENCE, 3 * GIB)).size
    assert answer.next.room == 3 * GIB


def test_hosts_that_are_full_keep_a_model_from_growing():
    study = on_twelve(Maximise.PARAMETERS, 2.25 * GIB)
    away = replace(study.space, offload=tuple(type(study.space.offload[0])))
    sizes = [
        largest(
            replace(
                study,
                space=away,
                cluster=replace(study.cluster, host=replace(HOST, memory=memory)),
            )
        ).size
        for memory in (1.0, 4 * GIB, 16 * GIB)
    ]
    assert sizes[0] == largest(study).size < sizes[1] < sizes[2]


def test_nothing_that_fits_is_told_with_the_nearest_miss():
    with pytest.raises(NoPlanFits, match=r"the smallest sequence, 512, needs at least .* GiB"):
        largest(on_twelve(Maximise.SEQUENCE, 0.5 * GIB))


def test_space_without_a_plan_is_refused():
    space = replace(NARROW, data=(5,))
    with pytest.raises(InputError, match="no legal plan for any number of layers"):
        largest(on_twelve(Maximise.PARAMETERS, 3 * GIB, space=space))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"maximise": None}, r"search\.maximise: is missing"),
        ({"limit": loose(deadline=1.0)}, r"search\.limit\.deadline: search\.maximise asks"),
        ({"maximise": Maximise.SEQUENCE, "lengthened": None}, "Give the study `lengthened`"),
    ],
)
def test_questions_without_an_answer_are_refused(changes, why):
    with pytest.raises(InputError, match=why):
        largest(replace(on_twelve(Maximise.PARAMETERS, 3 * GIB), **changes))


def test_samples_of_one_length_are_refused_with_the_reason():
    def fixed(tokens: int) -> Workload:
        if tokens > 1024:
            raise InputError(f"model 'small' has 1024 positions; sequence is {tokens}.")
        return long(tokens)

    study = on_twelve(Maximise.SEQUENCE, 3 * GIB, lengthened=fixed)
    with pytest.raises(InputError, match=rf"cannot have any length\..*{LONGEST}"):
        largest(study)


def test_stopped_before_it_knows_it_says_so():
    with pytest.raises(NoPlanFits, match="stopped before it knew"):
        largest(on_twelve(Maximise.PARAMETERS, 3 * GIB), stop=lambda: True)


def test_longest_samples_may_need_more_flop_than_64_bits_count():
    answer = largest(on_twelve(Maximise.SEQUENCE, 1e5 * GIB))
    assert (answer.size, answer.next) == (LONGEST, None)


def test_whole_batch_at_once_has_no_next_size():
    study = replace(gpt_study(), maximise=Maximise.MICRO_BATCH)
    answer = largest(study)
    assert (answer.size, answer.next) == (16, None)
    assert largest(replace(llama_study(), maximise=Maximise.MICRO_BATCH)).size == 36
