"""Transfer times: what is fitted to one machine holds on another."""

import pytest
from validation.collectives import main, terms_of, timed

from foretrain.files.coefficients import SHIPPED


def test_only_what_one_node_says_of_a_network_is_missed(capsys):
    assert not main()
    missed = [line for line in capsys.readouterr().out.splitlines() if line.endswith("MISSED")]
    assert [line.split(":")[1] for line in missed] == [" one node predicts two"]


def test_shipped_terms_are_those_that_the_rows_ask_for():
    for name, term in terms_of(tuple(timed())).items():
        shipped = SHIPPED.known[name]
        if shipped.rows:
            assert shipped.value == pytest.approx(term.value, rel=0.01)
            assert set(shipped.rows) == set(term.rows)
