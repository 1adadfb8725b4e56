"""Start-up: what file systems and nodes cannot do is refused, however little they do is not."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.cluster import Storage
from foretrain.errors import InputError
from foretrain.plan.servers import Access, StartUp

STORAGE = Storage(read=1e8, write=1e8)


@pytest.mark.parametrize("name", ["total_opens", "link", "local"])
@given(rate=st.floats(0.0, 1.0, exclude_min=True))
def test_a_rate_may_be_as_low_as_it_likes(name, rate):
    assert getattr(StartUp(storage=STORAGE, **{name: rate}), name) == rate


@pytest.mark.parametrize("name", ["total_opens", "link", "local"])
@pytest.mark.parametrize("rate", [0.0, -1.0, nan])
def test_a_rate_of_nothing_is_refused(name, rate):
    with pytest.raises(InputError, match=rf"^StartUp\.{name} must be above 0, got {rate}\.$"):
        StartUp(storage=STORAGE, **{name: rate})


@pytest.mark.parametrize("name", ["files", "opening", "launch", "node_launch", "latency"])
@pytest.mark.parametrize("cost", [-1.0, inf, nan])
def test_a_cost_below_0_or_without_an_end_is_refused(name, cost):
    with pytest.raises(InputError, match=rf"^StartUp\.{name} must be at least 0, got {cost}\.$"):
        StartUp(storage=STORAGE, **{name: cost})


def test_what_is_read_at_home_is_read_at_some_rate():
    with pytest.raises(InputError, match=r"^StartUp\.local must be given where access is"):
        StartUp(storage=STORAGE, access=Access.CACHED)
