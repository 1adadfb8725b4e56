from itertools import combinations, pairwise
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.step.strategies.pipeline import LayerRow, balanced, balanced_over

# Whole numbers: their sums do not round, so that ties are ties.
times = st.integers(0, 9).map(float)


@st.composite
def rows(draw):
    seconds = draw(st.lists(times, min_size=1, max_size=9))
    parts = draw(st.integers(1, len(seconds)))
    return seconds, draw(times), draw(times), parts


def slowest(seconds, cut, *, first, last):
    bounds = [sum(cut[:part]) for part in range(len(cut) + 1)]
    sums = [sum(seconds[start:end]) for start, end in pairwise(bounds)]
    sums[0] += first
    sums[-1] += last
    return max(sums)


def every_cut(layers, parts):
    for inner in combinations(range(1, layers), parts - 1):
        bounds = (0, *inner, layers)
        yield tuple(end - start for start, end in pairwise(bounds))


def brute_force(seconds, *, first, last, parts):
    def rank(cut):
        squares = sum(layers * layers for layers in cut)
        return slowest(seconds, cut, first=first, last=last), squares, cut

    return min(every_cut(len(seconds), parts), key=rank)


@given(row=rows())
def test_cut_is_the_best_of_all(row):
    seconds, first, last, parts = row
    cut = balanced(seconds, first=first, last=last, parts=parts)
    assert cut == brute_force(seconds, first=first, last=last, parts=parts)


def test_slowest_part_of_200_random_rows_is_as_quick_as_of_all_cuts():
    random = Random(20261121)
    for _ in range(200):
        seconds = [random.random() for _ in range(random.randint(1, 10))]
        ends = {"first": random.random(), "last": 3 * random.random()}
        parts = random.randint(1, len(seconds))
        best = min(slowest(seconds, cut, **ends) for cut in every_cut(len(seconds), parts))
        found = slowest(seconds, balanced(seconds, **ends, parts=parts), **ends)
        assert found == pytest.approx(best, rel=1e-11)


@given(row=rows(), factor=st.sampled_from([2.0, 3.0, 1000.0]))
def test_cut_does_not_depend_on_the_unit_of_time(row, factor):
    seconds, first, last, parts = row
    slower = [factor * each for each in seconds]
    cut = balanced(seconds, first=first, last=last, parts=parts)
    assert balanced(slower, first=factor * first, last=factor * last, parts=parts) == cut


@given(row=rows())
def test_more_parts_never_make_the_slowest_slower(row):
    seconds, first, last, parts = row
    if parts < len(seconds):
        cuts = [balanced(seconds, first=first, last=last, parts=n) for n in (parts, parts + 1)]
        fewer, more = [slowest(seconds, cut, first=first, last=last) for cut in cuts]
        assert more <= fewer


def test_one_part_has_all_layers():
    assert balanced([0.1] * 7, first=1, last=1, parts=1) == (7,)


def test_llama_3_405b_gives_its_first_and_last_stage_a_layer_less():
    # Its 126 layers were chosen for this: grattafiori2024, section 3.3.2, on 16 stages.
    assert balanced([0.1] * 126, first=0.1, last=0.1, parts=16) == (7, *[8] * 14, 7)


def test_equal_layers_are_spread_evenly_however_their_sums_round():
    assert balanced([0.1] * 80, first=0.01, last=0.1, parts=8) == (10,) * 8


def test_stages_of_a_tie_get_fewer_layers_the_earlier_they_are():
    assert balanced([1.0] * 8, first=0, last=0, parts=3) == (2, 3, 3)


@pytest.mark.parametrize("parts", [0, 4])
def test_a_cut_needs_a_layer_per_part(parts):
    with pytest.raises(InputError, match=f"cut into {parts} parts .* got 3 layers"):
        balanced([1.0] * 3, first=0, last=0, parts=parts)


def test_126_layers_are_cut_into_64_parts_within_10_ms():
    def spent():
        start = process_time()
        balanced([0.1] * 126, first=0.05, last=0.3, parts=64)
        return process_time() - start

    assert min(spent() for _ in range(10)) < 0.01


@st.composite
def devices_of_two_kinds(draw):
    seconds, first, last, parts = draw(rows())
    slower = draw(st.integers(1, 4))
    kinds = [
        LayerRow(seconds=[k * each for each in seconds], first=k * first, last=k * last)
        for k in (1, slower)
    ]
    return kinds, draw(st.lists(st.integers(0, 1), min_size=parts, max_size=parts))


@given(question=devices_of_two_kinds())
def test_cut_over_parts_on_different_devices_is_the_best_of_all(question):
    kinds, parts = question

    def rank(cut):
        bounds = [sum(cut[:part]) for part in range(len(cut) + 1)]
        sums = [
            sum(kinds[kind].seconds[start:end])
            for kind, (start, end) in zip(parts, pairwise(bounds), strict=True)
        ]
        sums[0] += kinds[parts[0]].first
        sums[-1] += kinds[parts[-1]].last
        return max(sums), sum(layers * layers for layers in cut), cut

    best = min(every_cut(len(kinds[0].seconds), len(parts)), key=rank)
    assert balanced_over(kinds, parts) == best


@given(row=rows())
def test_parts_on_equal_devices_are_cut_like_those_of_one_kind(row):
    seconds, first, last, parts = row
    kinds = [LayerRow(seconds=seconds, first=first, last=last)] * 2
    assert balanced_over(kinds, [part % 2 for part in range(parts)]) == balanced(
        seconds, first=first, last=last, parts=parts
    )
