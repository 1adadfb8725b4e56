"""Bounded search: the answer of the exhaustive search, whatever the question, at every moment."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import GIB
from tests.examples import few
from tests.random_studies import studies
from tests.small import (
    CLASSIC,
    cluster,
    expert_study,
    gpt_study,
    llama_study,
    long_study,
    resnet_study,
    with_memory,
)

from foretrain.cluster.offer import Offer
from foretrain.errors import ForetrainError
from foretrain.plan.plan import Schedule, Sharding
from foretrain.plan.study import Limit, Objective
from foretrain.search import bounded
from foretrain.verbs.search import search

STUDIES = {
    "gpt": gpt_study(),
    "llama": llama_study(space=replace(CLASSIC, schedule=tuple(Schedule))),
    "resnet": resnet_study(),
    "experts": expert_study(),
    "long": long_study(),
}


def answer(study, **options):
    """What a search answers, or the kind of error that it raises."""
    try:
        return search(study, **options)
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


@few(100)
@given(study=studies(), keep=st.integers(1, 20), trade_offs=st.booleans())
def test_bounded_search_answers_what_the_exhaustive_search_answers(study, keep, trade_offs):
    agree(study, keep=keep, trade_offs=trade_offs)


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("name", STUDIES)
def test_small_questions_have_one_answer(name, objective):
    found = agree(replace(STUDIES[name], objective=objective), trade_offs=False)
    assert found.excluded_by_bound > 0


@pytest.mark.parametrize("name", STUDIES)
def test_questions_with_little_memory_have_one_answer(name):
    front = search(STUDIES[name]).pareto
    agree(with_memory(STUDIES[name], front[len(front) // 2].memory))


def test_questions_about_several_numbers_of_nodes_have_one_answer():
    whole = cluster(nodes=4, node_devices=4)
    cheap = cluster(nodes=6, node_devices=2, name="cheap", price=1e-4)
    rented = (Offer(cluster=whole, nodes=(1, 2, 3, 4)), Offer(cluster=cheap, nodes=(3, 6)))
    for objective in Objective:
        agree(llama_study(cluster=whole, offers=rented, objective=objective))


def test_limits_leave_one_answer():
    fast = search(gpt_study()).best.estimate
    whole = fast.time_to_train
    for limit in (
        Limit(deadline=1.2 * whole),
        Limit(cost=1.2 * fast.cost_to_train),
        Limit(memory=6 * GIB, deadline=2 * whole),
    ):
        agree(gpt_study(limit=limit))


@pytest.mark.parametrize("keep", [1, 3, 1000])
def test_any_number_of_plans_may_be_kept(keep):
    agree(resnet_study(), keep=keep)


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_size_of_the_pieces_changes_nothing(rows, monkeypatch):
    whole = search(STUDIES["experts"])
    for name in ("FIRST", "WIDTH", "ROWS", "FEW"):
        monkeypatch.setattr(bounded, name, rows)
    found = search(STUDIES["experts"])
    assert (found.plans, found.pareto, found.space) == (whole.plans, whole.pareto, whole.space)


def test_without_trade_offs_more_plans_are_excluded():
    alone, beside = (search(gpt_study(), trade_offs=each) for each in (False, True))
    assert alone.pareto == ()
    assert alone.plans == beside.plans
    assert alone.excluded_by_bound > beside.excluded_by_bound


def test_fewer_kept_plans_exclude_no_fewer():
    excluded = [search(gpt_study(), keep=keep).excluded_by_bound for keep in (100, 10, 1)]
    assert excluded == sorted(excluded)


STOPPED = llama_study(space=replace(CLASSIC, shard=None, sharding=tuple(Sharding)))


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of a few regions, so that a small search has many of them."""
    for name in ("FIRST", "WIDTH", "ROWS"):
        monkeypatch.setattr(bounded, name, 24)


def pieces(study, **options):
    """How often a search asks whether to stop."""
    asked = count()
    search(study, stop=lambda: next(asked) < 0, **options)
    return next(asked)


@pytest.fixture(scope="module")
def whole():
    return search(STOPPED, exhaustive=True)


@few(50)
@given(data=st.data())
def test_search_that_is_stopped_knows_how_far_it_is_from_the_best(data, whole):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FIRST", "WIDTH", "ROWS"):
            patch.setattr(bounded, name, 24)
        number = data.draw(st.integers(0, 60))
        asked = count()
        found = search(STOPPED, stop=lambda: next(asked) >= number)
    best, closed = found.best.estimate.closed_form, whole.best.estimate.closed_form
    assert 0.0 <= found.gap <= 1.0
    assert (1.0 - found.gap) * best <= closed <= best
    assert found.space == settled(found) + found.unseen == whole.space
    assert found.proven_optimal == (found.unseen == 0)
    assert all(map(bounds, found.cells, whole.cells))
