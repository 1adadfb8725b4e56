"""Local search: what one pass looks at, and that it never makes things worse."""

from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms
from tests.examples import few
from validation.parts.tiny_ensembles import drawn

from foretrain.ensemble.course import begin, legs
from foretrain.ensemble.fleet import fleet_g, fleet_l, improved, neighbours

cases = st.integers(0, 2**32).map(drawn)


def end(found):
    return list(found)[-1].end


@given(case=cases, rule=st.sampled_from([fleet_g, fleet_l]))
@few(30)
def test_a_pass_never_ends_later_than_the_rule(case, rule):
    assert end(improved(case, rule(case))) <= end(legs(case, rule(case)))


def test_neighbours_of_a_deal_differ_by_who_leads_leaves_joins_or_makes_way():
    case = terms([100.0, 95.0, 30.0], devices=2, per_node=2)
    near = [dict(deal) for deal in neighbours(case, begin(case), {0: 1, 1: 1})]
    assert near == [
        {0: 1, 1: 1}, {1: 1, 0: 1}, {2: 2},  # a, b or c leads
        {0: 1, 1: 1},  # nobody changes; a third member has no device
        {1: 2}, {1: 1, 2: 1}, {0: 2}, {0: 1, 2: 1},  # a out, c for a, b out, c for b
        {2: 2}, {0: 2}, {2: 1, 1: 1}, {1: 1, 0: 1},  # the slowest, the quickest, two of each
    ]  # fmt: skip


def test_a_pass_brings_together_what_the_tolerance_kept_apart():
    # 100 and 79 miss the tolerance, so FLEET trains both alone on devices that scale badly.
    case = terms([(100.0, 110.0), (79.0, 87.0)], devices=2, per_node=2)
    assert end(legs(case, fleet_g(case))) == 1000 / 110 + 1000 / 87
    assert end(improved(case, fleet_g(case))) == 1000 / 79
