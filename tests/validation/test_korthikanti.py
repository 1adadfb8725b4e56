"""The accuracy that foretrain promises, recomputed."""

import pytest
from validation.korthikanti import LIMITS, main, show

from foretrain.measured.run import Subject


def test_every_limit_is_kept(capsys):
    assert main() == 0
    assert "MISSED" not in capsys.readouterr().out


@pytest.mark.parametrize("subject", LIMITS)
def test_a_missing_row_misses_the_limit(subject, capsys):
    assert not show(subject, [])
    assert "MISSED" in capsys.readouterr().out


def test_the_limits_are_those_of_step_time_and_memory():
    assert (LIMITS[Subject.STEP_TIME].mean, LIMITS[Subject.STEP_TIME].most) == (0.05, 0.12)
    assert [LIMITS[subject].mean for subject in list(LIMITS)[1:]] == [0.02, 0.06, 0.01]
