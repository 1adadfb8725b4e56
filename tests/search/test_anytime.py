"""A search that is stopped: whenever that is, what it says of the rest is true."""

from dataclasses import replace
from functools import cache, partial
from itertools import count
from math import inf

import pytest
from tests.examples import every
from tests.small import cluster, expert_study, gpt_study, llama_study, on_ethernet, with_memory

from foretrain.cluster.offer import Offer
from foretrain.plan.enumeration import plan_tables
from foretrain.plan.study import Objective
from foretrain.search import bounded, exhaustive
from foretrain.search.best_plans import best_plans
from foretrain.search.search import search

QUESTIONS = {
    "time": gpt_study(),
    "memory": llama_study(objective=Objective.MEMORY),
    "tight": with_memory(llama_study(), 4e9),
    "experts": expert_study(),
    "cost of up to 4 nodes": replace(
        gpt_study(objective=Objective.COST),
        offers=(Offer(cluster=cluster(nodes=4, node_devices=8), nodes=(1, 2, 3, 4)),),
    ),
    "two offers": replace(
        gpt_study(objective=Objective.COST),
        offers=(
            Offer(cluster=cluster(nodes=2, node_devices=8), nodes=(1, 2)),
            Offer(cluster=cluster(nodes=2, node_devices=8, name="dear", price=1e-3), nodes=(2,)),
        ),
    ),
}
LATER = (0, 1, 2, 5, 12, 30, 80, 200, 500, 10**6)
"""Chances to stop that a search lets go by."""

ENGINES = ((False, True), (True, False))
EVERY = every(
    2,
    [(name, each) for at, name in enumerate(QUESTIONS) for each in ENGINES[at % 2]],
    slow=1,
)
"""Questions and whether every plan is priced; by default in turns."""

ROUNDING = 1 + 1e-12


@cache
def whole(name):
    return search(QUESTIONS[name], exhaustive=True)


@cache
def stopped(name, exhaustive_too):
    """What a search in small pieces answers that is stopped ever later, up to its own end."""
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        for number in ("FIRST", "WIDTH"):
            patch.setattr(bounded, number, 8)
        patch.setattr(bounded, "ROWS", 64)
        patch.setattr(exhaustive, "plan_tables", partial(plan_tables, rows=200))
        for chance in LATER:
            stop = partial(next, iter([False] * chance), True)
            answers.append(search(QUESTIONS[name], exhaustive=exhaustive_too, stop=stop))
            if not answers[-1].unseen:
                break
    return answers


def value(answer):
    """Of the best plan by the closed form, in the measure of the objective."""
    return min(cell.best for cell in answer.cells if cell.best is not None)


@pytest.mark.parametrize(("name", "engine"), EVERY)
def test_whenever_a_search_is_stopped_its_gap_holds(name, engine):
    least, before, gap = value(whole(name)), inf, inf
    answers = stopped(name, engine)
    assert len(answers) > 3
    for answer in answers:
        assert least <= value(answer) <= before
        assert (1.0 - answer.gap) * value(answer) <= least * ROUNDING
        assert answer.gap <= gap
        assert answer.proven_optimal == (answer.gap == 0.0)
        before, gap = value(answer), answer.gap
    assert (answers[-1].gap, before) == (0.0, least)


@pytest.mark.parametrize(("name", "engine"), EVERY)
def test_whenever_a_search_is_stopped_its_counts_add_up(name, engine):
    space, unseen = whole(name).space, inf
    for answer in stopped(name, engine):
        seen = answer.priced + answer.excluded_by_bound + sum(answer.rejected.values())
        assert seen + answer.unseen == answer.space == space
        assert 0 <= answer.unseen <= unseen
        unseen = answer.unseen


@pytest.mark.parametrize(("name", "engine"), EVERY)
def test_whenever_a_search_is_stopped_its_map_hides_no_better_plan(name, engine):
    best = {(cell.tensor, cell.pipeline): cell.best for cell in whole(name).cells}
    for answer in stopped(name, engine):
        assert len(answer.cells) == len(best)
        for cell in answer.cells:
            known = [each for each in (cell.best, cell.bound) if each is not None]
            there = best[cell.tensor, cell.pipeline]
            assert there is None or min(known) <= there * ROUNDING


@pytest.mark.parametrize("engine", [False, True])
def test_progress_settles_the_whole_space_and_closes_the_gap(engine):
    seen = []
    answer = search(gpt_study(), exhaustive=engine, progress=seen.append)
    assert {now.space for now in seen} == {answer.space}
    assert [now.settled for now in seen] == sorted(now.settled for now in seen)
    assert (seen[-1].settled, seen[-1].best) == (answer.space, value(answer))
    gaps = [now.gap for now in seen if now.gap is not None]
    assert gaps == sorted(gaps, reverse=True)
    assert bool(gaps) != engine, "a search that prices everything bounds nothing until it must"
    assert gaps[-1:] in ([], [0.0])


def test_search_that_is_stopped_while_it_simulates_ranks_by_the_closed_form_alone():
    study, chances = on_ethernet(llama_study()), count()
    best_plans(study, trade_offs=False, stop=lambda: next(chances) < 0)
    last = next(chances) - 1
    answer = best_plans(study, trade_offs=False, stop=partial(next, iter([False] * last), True))
    assert (answer.proven_optimal, answer.unseen) == (True, 0)
    times = [each.estimate.closed_form for each in answer.ranking]
    assert times == [each.estimate.step_time for each in answer.ranking] == sorted(times)
    assert all(each.estimate.simulated is None for each in answer.ranking)
