"""CNTK on Blue Waters: what is published of it, and what must hold of our case."""

from tests.validation.published import numbers

from foretrain.queueing.served import best_count, server_knee
from validation import cntk

PATIENT = 40
"""Steps of each worker that are simulated; nothing here is random."""


def stated():
    values = {**cntk.inputs("fact"), **cntk.inputs("assumed")}
    return values, cntk.case_of(values)


def test_findings_are_consistent_with_the_published_ones():
    _, case = stated()
    four, sixteen = (numbers()[name].value for name in ("cntk-best-nodes", "cntk-server-knee"))
    assert cntk.FEW[0] < four < cntk.FEW[1]
    assert cntk.KNEE[0] < sixteen < cntk.KNEE[1]
    assert cntk.FEW[0] <= best_count(*case, most=cntk.MOST) <= cntk.FEW[1]
    assert cntk.KNEE[0] <= server_knee(case.training) <= cntk.KNEE[1]


def test_every_claim_is_kept():
    claims = [*cntk.claims()]
    assert len(claims) == 3 + 4 * 3 + 5
    assert [claim.name for claim in claims if not claim.kept] == []


def test_at_most_two_values_are_assumed():
    assert len(cntk.inputs("assumed")) <= 2


def test_a_claim_fails_where_an_input_makes_it_untrue():
    values, _ = stated()
    quick = cntk.case_of({**values, "targets": 1.0, "opening": 0.0})
    assert not next(cntk.findings("one target", quick)).kept
    slow = cntk.case_of({**values, "nic": values["nic"] / 4})
    assert not [*cntk.findings("slow network", slow)][2].kept


def test_twice_the_servers_serve_twice_the_nodes_in_the_simulation_too():
    one, two = cntk.simulated_knees(stated()[1].training)
    assert cntk.KNEE[0] <= one <= cntk.KNEE[1]
    assert cntk.TWICE[0] <= two / one <= cntk.TWICE[1]
