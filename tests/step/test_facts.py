"""Facts: what a reader is told of memory."""

from dataclasses import replace

import pytest
from tests.builders import memory

from foretrain.step import facts


@pytest.mark.parametrize(
    ("likely", "told"),
    [
        (0.999, ""),
        (0.83, "; fits with a probability of 83 %"),
        (0.03, "; fits with a probability of 3.0 %"),
        (0.001, ""),
    ],
)
def test_probability_of_fitting_is_told_where_it_is_a_question(likely, told):
    unsure = replace(memory(stages=1), probability_fits=likely)
    assert facts._sure(unsure) == told
