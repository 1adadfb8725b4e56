"""Each stage of a real run slowed in turn; `benchmarks/ensemble_bottleneck.py` does it 20 times."""

import random

import pytest
from tests.needs import needs

from foretrain.measured.ensemble_study import Stage

needs("torch")


@pytest.mark.parametrize("stage", Stage)
def test_the_stage_that_was_slowed_is_found(stage):
    from benchmarks import ensemble_bottleneck

    found = ensemble_bottleneck.found_when(stage, random.Random(stage.value), samples=100)
    assert found is not None
    assert found.stage is stage
