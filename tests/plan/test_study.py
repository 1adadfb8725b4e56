"""Studies: what a limit may ask for."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.study import Limit


@pytest.mark.parametrize("fits", [-0.1, 1.0, 1.5, float("nan")])
def test_certainty_and_what_is_no_probability_are_refused(fits):
    with pytest.raises(InputError, match=r"Limit.fits must be a probability from 0 to below 1"):
        Limit(fits=fits)
