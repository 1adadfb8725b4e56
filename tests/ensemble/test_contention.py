import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.ensemble.settings import sizes

from foretrain.ensemble.across_nodes import trained

RATES, SHARES, CORES = sizes(1, 1000), sizes(0, 1), some.integers(1, 32)


@given(demand=RATES, own=SHARES, cores=CORES)
def test_a_member_that_is_alone_gets_what_it_demands(demand, own, cores):
    assert trained(demand, own=own / demand, others=0.0, cores=cores) == pytest.approx(demand)


@given(demand=RATES, own=SHARES, others=sizes(0.01, 10))
def test_on_one_core_the_times_of_all_work_that_needs_it_are_limits(demand, own, others):
    own, others = own / demand, others / demand
    rate = trained(demand, own=own, others=others, cores=1)
    assert rate * (own + others) <= 1 + 1e-9
    assert rate <= demand


def test_one_core_takes_the_sum_of_the_times_of_a_member_that_never_leaves_it():
    assert trained(100.0, own=0.01, others=0.03, cores=1) == pytest.approx(25.0)


@given(demand=RATES, own=SHARES, others=sizes(0, 50), cores=CORES)
def test_one_more_core_never_hurts(demand, own, others, cores):
    work = {"own": own / demand, "others": others / demand}
    rate = trained(demand, cores=cores, **work)
    assert trained(demand, cores=cores + 1, **work) >= rate * (1 - 1e-9)


@given(demand=RATES, own=SHARES, others=sizes(0, 50), cores=CORES)
def test_rates_scale_with_the_speed_of_everything(demand, own, others, cores):
    own, others = own / demand, others / demand
    rate = trained(demand, own=own, others=others, cores=cores)
    twice = trained(2 * demand, own=own / 2, others=others / 2, cores=cores)
    assert twice == pytest.approx(2 * rate)


def test_many_cores_give_nearly_the_smaller_of_two_rates():
    few = trained(100.0, own=0.001, others=1.0, cores=50)
    assert few == pytest.approx(50.0, rel=0.02)
    assert trained(100.0, own=0.001, others=0.1, cores=50) == pytest.approx(100.0, rel=0.001)
