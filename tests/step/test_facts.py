"""Facts: what a reader is told of memory."""

from dataclasses import replace

import pytest
from tests.builders import estimate, memory, study

from foretrain.step import facts


@pytest.mark.parametrize(
    ("likely", "told"),
    [
        (0.999, ""),
        (0.83, "; fits with 83 %"),
        (0.03, "; fits with 3.0 %"),
        (0.001, ""),
    ],
)
def test_probability_of_fitting_is_told_where_it_is_a_question(likely, told):
    sure = replace(memory(stages=1), probability_fits=1.0)
    unsure = replace(sure, probability_fits=likely)
    plain, more = (facts.memory(study(), estimate(memory=each)).more for each in (sure, unsure))
    assert more == plain + told
