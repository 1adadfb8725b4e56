"""Spaces: choices are tuples, and nothing else is taken for one."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.study import Space


@pytest.mark.parametrize("choices", [8, [8], ()])
def test_choices_that_are_no_tuple_are_refused(choices):
    with pytest.raises(InputError, match=r"^Space\.tensor must be a tuple of choices"):
        Space(tensor=choices)
