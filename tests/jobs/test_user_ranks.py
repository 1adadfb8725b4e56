"""Fair-share factors of a log's users, beside the tree that the simulation asks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job

from foretrain.jobs.fair_tree import UsageTree
from foretrain.jobs.start_orders import started
from foretrain.jobs.user_ranks import SHARES, SharePoint, UserRanks
from foretrain.measured.site import Association


@pytest.mark.parametrize("classic", [False, True])
@few(30)
@given(data=st.data())
def test_factors_over_a_log_are_those_of_its_tree(data, classic):
    names = [("a", "u"), ("a", "v"), ("b", "w"), ("b", "x")]
    place = st.integers(0, len(SHARES) - 1)
    point = SharePoint(
        tuple(data.draw(place) for _ in "ab"),
        tuple(data.draw(place) for _ in names),
        1e30,
        1.0,
        classic=classic,
    )
    held = [data.draw(st.sampled_from([0.0, 10.0, 20.0, 70.0])) for _ in names]
    jobs = [
        job(at, arrival=0.0, work=max(seconds, 1.0), account=account, user=user)
        for at, ((account, user), seconds) in enumerate(zip(names, held, strict=True))
    ]
    # Who has used nothing by then starts later.
    begun = {each.name: 0.0 if seconds else 1e6 for each, seconds in zip(jobs, held, strict=True)}
    log = started(jobs, begun, {})
    ranks = UserRanks(log, 100.0, np.array([100.0] * len(names)))
    [found] = ranks.of([np.arange(len(names))], point)
    tree = UsageTree(
        [
            Association(name=each, shares=SHARES[at])
            for each, at in zip("ab", point.accounts, strict=True)
        ]
        + [
            Association(name=user, parent=account, shares=SHARES[at], is_user=True, usage=used)
            for (account, user), at, used in zip(names, point.users, held, strict=True)
        ]
    )
    expected = tree.classic() if classic else tree.fair_tree()
    assert found.tolist() == pytest.approx([expected[key] for key in names])


def test_a_share_is_told_in_terms_of_a_siblings_where_only_so_the_next_one_is_tried():
    # 5 : 4 : 3 is near 5 : 15/4 : 3, and only beside a share of 1 are both among those tried.
    assert {a / b for a in range(1, 6) for b in range(1, 6)} <= set(SHARES)
    places = tuple(SHARES.index(each) for each in (5 / 3, 5 / 4, 1.0))
    point = SharePoint(places, (0, 1), 60.0, 60.0)
    moved = point.moved(1, 1, (2, 0, 1))
    assert [SHARES[each] for each in moved.accounts] == [5 / 3, 4 / 3, 1.0]
    other = point._replace(accounts=tuple(SHARES.index(each) for each in (4 / 3, 1.0, 4 / 5)))
    assert other.moved(1, 1, (2, 0, 1)) == moved
    assert other.moved(3, 99, ()).users == (len(SHARES) - 1, 1)
