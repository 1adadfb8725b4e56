"""Traces of a profiler: a step in classes that add up, whatever runs beside what."""

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.launch.kineto import OperatorClass, profiled

RECORDED = Path(__file__).parents[2] / "examples/loop/recorded/profile.json.gz"
MS = 1000.0


def event(name, start, end, cat="kernel", *, of=None, thread=7):
    """An event between two milliseconds."""
    args = {} if of is None else {"args": {"External id": of}}
    times = {"ts": start * MS, "dur": (end - start) * MS}
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": thread, **times, **args}


def trace(*events, steps=((0.0, 10.0),)):
    said = [
        event(f"ProfilerStep#{number}", *each, "user_annotation")
        for number, each in enumerate(steps)
    ]
    return {"schemaVersion": 1, "traceEvents": [*said, *events]}


def seconds(*events, steps=((0.0, 10.0),)):
    found = profiled(trace(*events, steps=steps)).seconds
    return {kind: pytest.approx(1e3 * it) for kind, it in found.items() if it > 1e-12}


def test_a_step_waits_where_nothing_runs():
    found = seconds(event("ampere_bf16_s16816gemm", 1, 4))
    assert found == {OperatorClass.PRODUCTS: 3, OperatorClass.WAITING: 7}


def test_an_exchange_counts_where_nothing_computes_beside_it():
    found = seconds(
        event("nvjet_tst_128x256", 0, 6),
        event("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2, 9, thread=20),
    )
    assert found == {
        OperatorClass.PRODUCTS: 6,
        OperatorClass.EXCHANGES: 3,
        OperatorClass.WAITING: 1,
    }


def test_of_operators_that_call_one_another_the_innermost_runs():
    found = seconds(
        event("aten::cross_entropy_loss", 0, 10, "cpu_op"),
        event("aten::log_softmax", 1, 9, "cpu_op"),
        event("aten::_log_softmax", 2, 8, "cpu_op"),
    )
    assert found == {OperatorClass.LOSS: 10}
    found = seconds(
        event("autograd::engine::evaluate_function: MmBackward0", 0, 10, "cpu_op"),
        event("MmBackward0", 0, 10, "cpu_op"),
        event("aten::mm", 1, 9, "cpu_op"),
    )
    assert found == {OperatorClass.PRODUCTS: 8, OperatorClass.WAITING: 2}


def test_a_kernel_is_what_the_operator_is_that_called_it():
    found = seconds(
        event("aten::_softmax", 0, 1, "cpu_op", of=5),
        event("void at::native::elementwise_kernel<128>", 3, 5, of=5),
        event("aten::bmm", 1, 2, "cpu_op", of=6),
        event("sm90_xmma_gemm_bf16bf16", 6, 9, of=6),
        event("triton_poi_fused_add_mul_3", 5, 6),
    )
    assert found == {
        OperatorClass.ATTENTION: 5,
        OperatorClass.OTHER: 1,
        OperatorClass.WAITING: 4,
    }


def test_an_id_that_is_none_tells_of_no_caller():
    found = seconds(
        event("aten::bmm", 1, 2, "cpu_op", of=[1]), event("sm90_gemm", 6, 9, of={"id": 1})
    )
    assert found == {OperatorClass.PRODUCTS: 3, OperatorClass.WAITING: 7}


def test_what_runs_for_the_optimizer_is_the_update():
    found = seconds(
        event("Optimizer.step#AdamW.step", 6, 9, "user_annotation"),
        event("aten::mul_", 6, 8, "cpu_op"),
        event("aten::mul_", 1, 2, "cpu_op"),
    )
    assert found == {
        OperatorClass.UPDATE: 2,
        OperatorClass.OTHER: 1,
        OperatorClass.WAITING: 7,
    }


def test_what_runs_outside_of_steps_does_not_count_and_steps_are_meant():
    events = (event("sm90_gemm", -5, 2), event("sm90_gemm", 12, 16))
    found = profiled(trace(*events, steps=((0, 10), (10, 20))))
    assert found.steps == 2
    assert found.step_time == pytest.approx(0.010)
    assert found.seconds[OperatorClass.PRODUCTS] == pytest.approx(0.003)


def test_steps_are_as_the_device_saw_them_where_it_did():
    later = event("ProfilerStep#0", 2, 22, "gpu_user_annotation")
    found = profiled(trace(event("sm90_gemm", 3, 13), later))
    assert found.step_time == pytest.approx(0.020)


spans = st.tuples(st.floats(0, 12), st.floats(0.001, 5), st.sampled_from(["gemm", "nccl", "x"]))


@given(st.lists(spans, min_size=1, max_size=20))
def test_classes_add_up_to_the_step_and_pieces_never_overlap(drawn):
    events = [event(name, start, start + length) for start, length, name in drawn]
    if min(start for start, _, _ in drawn) >= 10:
        events.append(event("gemm", 1, 2))
    found = profiled(trace(*events))
    assert sum(found.seconds.values()) == pytest.approx(found.step_time, rel=1e-9)
    assert min(found.seconds.values()) >= -1e-12
    assert all(one.end <= other.start for one, other in pairwise(found.pieces))


def test_a_recorded_trace_says_what_two_steps_of_a_decoder_were_spent_on():
    found = profiled(json.loads(gzip.decompress(RECORDED.read_bytes())))
    assert found.steps == 2
    assert 0.4 < found.step_time < 0.8
    shares = {kind: each / found.step_time for kind, each in found.seconds.items()}
    assert sum(shares.values()) == pytest.approx(1.0, rel=1e-12)
    assert shares[OperatorClass.PRODUCTS] > 0.5
    assert shares[OperatorClass.EXCHANGES] == 0
    assert min(shares[kind] for kind in (OperatorClass.LOSS, OperatorClass.OTHER)) > 0.05


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"traceEvents": []}, "names no steps"),
        (trace(), "no operators and no kernels"),
        ({"traceEvents": [7, {"ph": "X"}, {"ph": "X", "ts": "1", "dur": 2}]}, "names no steps"),
        (trace(steps=((0.0, float("nan")),)), "names no steps"),
        (trace(steps=((5.0, 5.0), (6.0, 1.0), (float("-inf"), 1.0))), "names no steps"),
        (trace(event("gemm", 1, float("inf"))), "no operators and no kernels"),
        (trace(event("gemm", 1, float("inf"), of={})), "no operators and no kernels"),
    ],
)
def test_a_trace_without_steps_or_kernels_is_refused(document, told):
    with pytest.raises(InputError, match=told):
        profiled(document)
