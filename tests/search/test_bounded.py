"""Bounded search: the answer of the exhaustive search, whatever the question, at every moment."""

from contextlib import contextmanager
from dataclasses import replace
from itertools import count, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import GIB
from tests.examples import every, few
from tests.random_studies import studies
from tests.small import (
    CLASSIC,
    cluster,
    expert_study,
    gpt_study,
    llama_study,
    long_study,
    loose,
    resnet_study,
    saving,
    with_memory,
)

from foretrain.cluster.cluster import Power
from foretrain.cluster.offer import Offer
from foretrain.errors import ForetrainError
from foretrain.plan.plan import Schedule
from foretrain.plan.study import Objective
from foretrain.search import bounded
from foretrain.search.best_plans import best_plans

STUDIES = {
    "gpt": gpt_study(),
    "llama": llama_study(space=replace(CLASSIC, schedule=tuple(Schedule))),
    "resnet": resnet_study(),
    "pictures": resnet_study(
        cluster=cluster(nodes=4, node_devices=4),
        space=replace(CLASSIC, attention=None, context=None, split=(0, 14)),
    ),
    "experts": expert_study(),
    "long": long_study(),
}
STUDIES = {name: saving(study) for name, study in STUDIES.items()}


def answer(study, **options):
    """What a search answers, or the kind of error that it raises."""
    try:
        return best_plans(study, **options)
    except ForetrainError as error:
        return type(error)


def agree(study, **options):
    """Hold a bounded search against the exhaustive one, and give its answer."""
    found, every = answer(study, **options), answer(study, exhaustive=True, **options)
    if isinstance(every, type):
        assert found is every
        return None
    assert found.plans == every.plans
    assert found.best == every.best
    assert found.pareto == every.pareto
    assert (found.proven_optimal, found.gap) == (every.proven_optimal, every.gap) == (True, 0.0)
    assert found.space == every.space == settled(found) == settled(every)
    assert every.excluded_by_bound == found.unseen == every.unseen == 0
    assert [*map(place, found.cells)] == [*map(place, every.cells)]
    assert all(map(bounds, found.cells, every.cells))
    return found


def settled(result):
    """Plans of which it is known what became of them."""
    return result.priced + result.excluded_by_bound + sum(result.rejected.values())


def place(cell):
    return cell.tensor, cell.pipeline, cell.plans


def bounds(cell, whole):
    """Whether a cell's bound and best plan are what the cell with all its plans confirms."""
    if whole.best is None:
        return cell.best is None
    known = [each for each in (cell.best, cell.bound) if each is not None]
    return (cell.best is None or cell.best >= whole.best) and min(known) <= whole.best


@few(8, slow=1000)
@given(study=studies(), keep=st.integers(1, 20), trade_offs=st.booleans())
def test_bounded_search_answers_what_the_exhaustive_search_answers(study, keep, trade_offs):
    agree(study, keep=keep, trade_offs=trade_offs)


@pytest.mark.parametrize(("name", "objective"), every(5, product(STUDIES, Objective), slow=1))
def test_small_questions_have_one_answer(name, objective):
    found = agree(replace(STUDIES[name], objective=objective), trade_offs=False)
    assert found.excluded_by_bound > 0


@pytest.mark.parametrize("name", every(3, STUDIES, slow=1))
def test_questions_with_little_memory_have_one_answer(name):
    front = best_plans(STUDIES[name]).pareto
    agree(with_memory(STUDIES[name], front[len(front) // 2].memory))


def test_questions_about_several_numbers_of_nodes_have_one_answer():
    whole = cluster(nodes=4, node_devices=4, power=Power(idle=2_000.0))
    cheap = cluster(nodes=6, node_devices=2, name="cheap", price=1e-4)
    rented = (Offer(cluster=whole, nodes=(1, 2, 3, 4)), Offer(cluster=cheap, nodes=(3, 6)))
    for objective in Objective:
        agree(llama_study(cluster=whole, offers=rented, objective=objective))


def test_a_single_stage_is_named_alike_whatever_cut_is_said_first():
    one = llama_study()
    for cut in (("counted", "even"), ("even", "counted"), ("remainder", "counted")):
        space = replace(one.space, cut=cut, pipeline=(1, 2))
        found = agree(replace(one, space=space))
        alone = [each.plan.cut for each in found.ranking if each.plan.pipeline == 1]
        assert {*alone} <= {"even" if "even" in cut else cut[0]}


def test_limits_leave_one_answer():
    fast = best_plans(gpt_study()).ranking[0].estimate
    whole = fast.time_to_train
    for limit in (
        loose(deadline=1.2 * whole),
        loose(cost=1.2 * fast.cost_to_train),
        loose(memory=6 * GIB, deadline=2 * whole),
    ):
        agree(gpt_study(limit=limit))


@pytest.mark.parametrize("keep", [1, 3, 200])
def test_any_number_of_plans_may_be_kept(keep):
    agree(resnet_study(), keep=keep)


@pytest.mark.parametrize("rows", [7, 300])
def test_size_of_the_pieces_changes_nothing(rows):
    whole = best_plans(STUDIES["experts"])
    with pieces(rows):
        found = best_plans(STUDIES["experts"])
    assert (found.plans, found.pareto, found.space) == (whole.plans, whole.pareto, whole.space)


def test_without_trade_offs_more_plans_are_excluded():
    alone, beside = (best_plans(gpt_study(), trade_offs=each) for each in (False, True))
    assert alone.pareto == ()
    assert alone.ranking == beside.ranking
    assert alone.excluded_by_bound > beside.excluded_by_bound


def test_fewer_kept_plans_exclude_no_fewer():
    excluded = [best_plans(gpt_study(), keep=keep).excluded_by_bound for keep in (100, 10, 1)]
    assert excluded == sorted(excluded)


@contextmanager
def pieces(rows):
    """Pieces of a few regions, so that a small search has many of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST", "WIDTH", "ROWS"):
            patch.setattr(bounded, name, rows)
        yield


@few(5, slow=500)
@given(study=studies(most=1_500), number=st.integers(0, 40))
def test_search_that_is_stopped_knows_how_far_it_is_from_the_best(study, number):
    study, asked = replace(study, limit=loose()), count()
    with pieces(16):
        found = answer(study, stop=lambda: next(asked) >= number)
    every = answer(study, exhaustive=True)
    if isinstance(every, type):
        assert found is every
        return
    assert found.space == settled(found) + found.unseen == every.space
    assert (1.0 - found.gap) * value(found) <= value(every) * (1.0 + 1e-12)
    assert value(found) >= value(every)
    assert all(map(bounds, found.cells, every.cells))


def value(result):
    """Of the best plan by the closed form."""
    return min(cell.best for cell in result.cells if cell.best is not None)
