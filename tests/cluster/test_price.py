"""Prices: a list price ages after half a year."""

from datetime import date, timedelta

import pytest

from foretrain.cluster.price import MOST_DAYS, days_old

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("age", "told"), [(-1, None), (0, None), (MOST_DAYS, None), (MOST_DAYS + 1, MOST_DAYS + 1)]
)
def test_price_is_old_after_180_days(age, told):
    assert days_old(TODAY - timedelta(days=age), TODAY) == told
