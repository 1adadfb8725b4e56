"""What steps on pictures lose beside their kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cost.picture_steps import doublings, once, straggling
from foretrain.cost.setting import setting
from foretrain.files.catalogue import cluster
from foretrain.files.coefficients import PRIORS
from foretrain.plan.execution import Execution
from foretrain.plan.plan import Plan
from foretrain.plan.software import Software
from foretrain.plan.table import table_of
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload

KNOWN = PRIORS.coefficients.picture_steps
CLUSTER = cluster("dgx-a100", 1)


def priced(model, execution=Execution.EAGER, **habits):
    workload = Workload(model=model, global_batch=64)
    software = Software(execution=execution, **habits)
    return setting(workload, CLUSTER, PRIORS.coefficients, software=software)


@pytest.fixture(scope="module")
def network():
    return build("resnet-18", image=64)


def test_model_of_text_loses_nothing():
    text = priced(build("gpt-2", sequence=64))
    assert once(text, np.array([8.0])) == 0.0
    assert straggling(text, table_of([Plan(data=8)])) == 1.0


def test_replicas_agree_and_one_has_nobody_to_agree_with(network):
    alone, eight = once(priced(network), np.array([1.0, 8.0]))
    assert alone == KNOWN.eager
    assert eight == KNOWN.eager + KNOWN.eager_wait


def test_whole_programs_are_as_quick_as_tuned_code(network):
    whole = priced(network, Execution.GRAPH, whole=True)
    tuned = priced(network, Execution.TUNED)
    assert once(whole, np.array([8.0])) == once(tuned, np.array([8.0]))


def test_more_replicas_wait_longer_for_the_slowest(network):
    plans = table_of([Plan(data=data, micro_batch=64 // data) for data in (1, 2, 4, 8)])
    found = straggling(priced(network), plans)
    assert found[0] == 1.0
    assert (np.diff(found) > 0).all()
    assert found[-1] == pytest.approx(1.0 + KNOWN.straggling * np.sqrt(2.0 * np.log(8.0)))


def test_largest_of_a_thousand_lies_as_far_out_as_sampling_says():
    deviations = np.random.default_rng(1).standard_normal((2000, 1024)).max(axis=1).mean()
    bound = np.sqrt(2.0 * np.log(2.0) * doublings(np.array([1024.0]))[0])
    assert deviations < bound < 1.2 * deviations


@given(st.integers(1, 10_000_000))
def test_doublings_are_exact(replicas):
    assert doublings(np.array([float(replicas)]))[0] == replicas.bit_length() - 1
