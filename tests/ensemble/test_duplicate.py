"""Members that share nothing but hosts, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ensemble.ensembles import terms

from foretrain.ensemble.fleet import duplicate, shared_out


def test_the_next_member_starts_where_one_has_ended():
    case = terms([100.0, 50.0, 20.0, 40.0], devices=2, per_node=2, checkpoint=9.0)
    assert [leg.end for leg in duplicate(case)] == [10.0, 20.0, 45.0, 60.0]
    assert [set(leg.deal) for leg in duplicate(case)] == [{0, 1}, {1, 2}, {2, 3}, {2}]


def test_members_of_a_node_share_what_its_host_prepares():
    # Two nodes of two: a takes 20 of the first host's 100, b the rest; c and d half each.
    case = terms([20.0, 200.0, 90.0, 60.0], devices=4, per_node=2, host=100.0)
    assert next(duplicate(case)).paces == {0: 20.0, 1: 80.0, 2: 50.0, 3: 50.0}


@given(
    wanted=st.lists(st.floats(0.1, 100.0), min_size=1, max_size=6),
    supply=st.floats(1.0, 300.0),
)
def test_a_supply_is_used_up_or_everybody_has_what_it_wants(wanted, supply):
    got = shared_out(dict(enumerate(wanted)), supply)
    assert sum(got.values()) == pytest.approx(min(supply, sum(wanted)))
    assert all(got[place] <= want for place, want in enumerate(wanted))


@given(wanted=st.lists(st.floats(0.1, 100.0), min_size=1, max_size=6), supply=st.floats(1.0, 300.0))
def test_who_gets_less_than_it_wants_gets_no_less_than_anybody_else(wanted, supply):
    got = shared_out(dict(enumerate(wanted)), supply)
    short = [got[place] for place, want in enumerate(wanted) if got[place] < want]
    assert all(one >= max(got.values()) - 1e-9 for one in short)
