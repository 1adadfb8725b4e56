"""What steps on pictures lose beside their kernels."""

import numpy as np
import pytest

from foretrain.step.schedule import once
from foretrain.step.setting import setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import PRIORS
from foretrain.trainers.software import Execution, Software
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


def test_replicas_agree_and_one_has_nobody_to_agree_with(network):
    alone, two, eight = once(priced(network), np.array([1.0, 2.0, 8.0]))
    assert alone == KNOWN.eager
    assert two == eight == KNOWN.eager + KNOWN.eager_wait


def test_replicas_of_a_whole_program_have_nothing_to_agree_on(network):
    whole = priced(network, Execution.GRAPH, whole=True)
    tuned = priced(network, Execution.TUNED)
    assert once(whole, np.array([8.0])) == once(tuned, np.array([1.0]))
