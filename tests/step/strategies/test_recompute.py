"""Recomputation: what is dropped is what is computed again."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.step.strategies.recompute import covered, handed_on, kept, repeated
from foretrain.workload.execution import Kernels
from foretrain.workload.library.entries import build

PLANS = table_of([Plan(recompute=kind) for kind in Recompute])
MODEL = build("gpt-3-175b", sequence=2048)
amounts = st.floats(0, 1e12).map(lambda amount: np.full(len(Recompute), amount))


@given(full=amounts, selective=amounts)
def test_nothing_some_or_all_is_computed_again(full, selective):
    found = repeated(PLANS, full=full * covered(MODEL, PLANS), selective=selective)
    assert found.tolist() == [0.0, selective[0], full[0]]


@given(everything=amounts, share=st.floats(0, 1), boundary=amounts)
def test_everything_the_rest_or_the_boundary_stays(everything, share, boundary):
    dropped = share * everything
    part = covered(MODEL, PLANS)
    found = kept(PLANS, everything=everything, dropped=dropped, boundary=boundary, part=part)
    assert found.tolist() == [everything[0], (everything - dropped)[0], boundary[0]]


def test_full_recomputation_of_some_layers_covers_their_share():
    plans = table_of(
        [Plan(recompute=Recompute.FULL, recompute_layers=layers) for layers in (0, 24)]
    )
    assert covered(MODEL, plans).tolist() == [1.0, 0.25]


def test_a_wide_stream_is_handed_on_in_four_bytes():
    values = np.array([[10.0]])
    assert handed_on(None, values, width=2.0) == 20
    assert handed_on(Kernels(), values, width=2.0) == 20
    assert handed_on(Kernels(wide_stream=True), values, width=2.0) == 40
    assert handed_on(Kernels(autocast=True), values, width=4.0) == 40
