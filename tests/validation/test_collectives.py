"""Transfer times: what is fitted to one machine holds on another."""

import pytest
from tests.examples import slow
from validation.collectives import main, terms_of, timed

from foretrain.study.coefficients import SHIPPED


@slow
def test_what_one_machine_says_holds_on_another(capsys):
    assert main()
    assert "MISSED" not in capsys.readouterr().out


def test_shipped_terms_are_those_that_the_rows_ask_for():
    for name, term in terms_of(tuple(timed())).items():
        shipped = SHIPPED.known[name]
        if shipped.rows:
            assert shipped.value == pytest.approx(term.value, rel=0.01)
            assert set(shipped.rows) == set(term.rows)
