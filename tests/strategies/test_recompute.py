"""Recomputation: what is dropped is what is computed again."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.strategies.recompute import kept, repeated

PLANS = table_of([Plan(recompute=kind) for kind in Recompute])
amounts = st.floats(0, 1e12).map(lambda amount: np.full(len(Recompute), amount))


@given(full=amounts, selective=amounts)
def test_nothing_some_or_all_is_computed_again(full, selective):
    found = repeated(PLANS, full=full, selective=selective)
    assert found.tolist() == [0.0, selective[0], full[0]]


@given(everything=amounts, share=st.floats(0, 1), boundary=amounts)
def test_everything_the_rest_or_the_boundary_stays(everything, share, boundary):
    dropped = share * everything
    found = kept(PLANS, everything=everything, dropped=dropped, boundary=boundary)
    assert found.tolist() == [everything[0], (everything - dropped)[0], boundary[0]]
