"""Traces written by hand become layers: which modules those are, who keeps what, what is folded."""

import pytest

from foretrain.workload.operator import Matrices, Size
from foretrain.workload.traced.layers import layers_of, model_of_trace
from foretrain.workload.traced.trace import (
    ModelTrace,
    RowKind,
    TracedModule,
    TracedParameter,
    TracedTensor,
    TraceRow,
    is_suspicious,
    kind_of,
)

SAMPLES, WIDTH = 2, 8


def tensor(storage, *shape, **more):
    return TracedTensor(storage=storage, shape=shape or (SAMPLES, WIDTH), width=2, **more)


def weight(storage):
    return tensor(storage, WIDTH, WIDTH)


def product(module, read, matrix, written, **more):
    return TraceRow(
        name="aten.mm", module=module, reads=(tensor(read), weight(matrix)),
        writes=(tensor(written),), kept=(tensor(read),), returned=Size(values=1.0), **more,
    )  # fmt: skip


def relu(module, read, written):
    return TraceRow(
        name="aten.relu", module=module, reads=(tensor(read),), writes=(tensor(written),),
        pointwise=True, kept=(tensor(written),), returned=Size(values=1.0),
    )  # fmt: skip


def trace(rows, parts, matrices, **more):
    return ModelTrace(
        name="net",
        rows=tuple(rows),
        parameters=tuple(
            TracedParameter(name=f"p{each}", storage=each, count=64.0) for each in matrices
        ),
        parts=parts,
        inputs=frozenset({0}),
        samples=SAMPLES,
        **more,
    )


def chain(layers, *, rows=None, tied=False):
    """A product in front, `layers` blocks of a product and a ReLU, and a product behind."""
    made = [product("front", 0, 100, 1)]
    parts = {
        "": TracedModule(kind="Net", children=("front", "blocks", "behind")),
        "front": TracedModule(kind="Linear", owns=True),
        "behind": TracedModule(kind="Linear", owns=True),
        "blocks": TracedModule(
            kind="ModuleList", children=tuple(map(str, range(layers))), chain=True
        ),
    }
    for each in range(layers):
        here = f"blocks.{each}"
        parts[here] = TracedModule(kind="Block", children=("inner", "relu"))
        parts[f"{here}.inner"] = TracedModule(kind="Linear", owns=True)
        parts[f"{here}.relu"] = TracedModule(kind="ReLU")
        made.append(product(f"{here}.inner", 2 * each + 1, 101 + each, 2 * each + 2))
        made.append(relu(f"{here}.relu", 2 * each + 2, 2 * each + 3))
    last = 100 if tied else 101 + layers
    made.append(product("behind", 2 * layers + 1, last, 2 * layers + 2))
    matrices = range(100, 101 + layers + (not tied))
    return trace(rows or made, parts, matrices)


def test_equal_layers_are_folded_between_what_stands_around_them():
    model = model_of_trace(chain(5))
    assert [(it.name, it.repeats, it.cuttable) for it in model.layers] == [
        ("front", 1, False), ("blocks.0", 5, True), ("end", 1, False)
    ]  # fmt: skip
    assert model.parameters == 7 * 64
    assert [it.output for it in model.layers] == [WIDTH, WIDTH, 0.0]


def test_product_of_parameters_stacks_the_rows_of_all_samples():
    (first, *_) = [each for _, each in model_of_trace(chain(2)).operators]
    assert first.matrices == Matrices(rows=1.0, columns=WIDTH, depth=WIDTH)
    assert first.weights == 64


def test_what_two_rows_keep_is_kept_once_by_the_one_that_reads_it():
    model = model_of_trace(chain(3))
    kept = {each.name: each.kept.values for layer in model.layers for each in layer.operators}
    assert kept == {"front mm": WIDTH, "inner mm": WIDTH, "relu": 0.0, "behind mm": WIDTH}


def test_parameters_of_both_ends_are_tied():
    model = model_of_trace(chain(3, tied=True))
    assert model.tied == 64
    assert model.parameters == 4 * 64
    assert [each.weights for each in model.layers] == [64, 64, 64]


def test_network_without_a_chain_is_one_layer():
    parts = {"": TracedModule(kind="Net", owns=True)}
    model = model_of_trace(trace([product("", 0, 100, 1)], parts, [100]))
    assert [(it.name, it.cuttable) for it in model.layers] == [("model", True)]


def test_branches_that_read_the_same_are_no_layers():
    found = chain(3)
    same = (product(f"blocks.{each}.inner", 1, 101 + each, 10 + each) for each in range(3))
    rows = [found.rows[0], *same]
    assert layers_of(chain(3, rows=[*rows, product("behind", 10, 104, 20)])) == frozenset()
    assert layers_of(found) == {"blocks.0", "blocks.1", "blocks.2"}


def test_longer_chains_inside_members_are_the_layers():
    parts = {"": TracedModule(kind="Net", children=("stages",))}
    parts["stages"] = TracedModule(kind="ModuleList", children=("0", "1"), chain=True)
    rows, storage = [], 0
    for stage in "01":
        parts[f"stages.{stage}"] = TracedModule(kind="Stage", children=("blocks",))
        parts[f"stages.{stage}.blocks"] = TracedModule(
            kind="ModuleList", children=("0", "1", "2"), chain=True
        )
        for block in "012":
            here = f"stages.{stage}.blocks.{block}"
            parts[here] = TracedModule(kind="Block", children=("inner",))
            parts[f"{here}.inner"] = TracedModule(kind="Linear", owns=True)
            rows.append(product(f"{here}.inner", storage, 100 + storage, storage + 1))
            storage += 1
    found = trace(rows, parts, range(100, 106))
    assert layers_of(found) == {f"stages.{s}.blocks.{b}" for s in "01" for b in "012"}


def test_a_skip_past_a_layer_is_handed_on_with_its_output():
    found = chain(2)
    *rows, last = found.rows
    late = TraceRow(
        name="aten.add", module="behind", reads=(tensor(5), tensor(1)), writes=(tensor(50),),
        pointwise=True, returned=Size(values=1.0),
    )  # fmt: skip
    model = model_of_trace(chain(2, rows=[*rows, late, last]))
    assert [each.output for each in model.layers] == [WIDTH, 2 * WIDTH, 2 * WIDTH, 0.0]


def test_neighbours_that_work_value_by_value_are_one_kernel():
    rows = [product("", 0, 100, 1), *(relu("", each, each + 1) for each in range(1, 4))]
    parts = {"": TracedModule(kind="Net", owns=True)}
    model = model_of_trace(trace(rows, parts, [100]))
    _, fused = [each for _, each in model.operators]
    assert (fused.forward, fused.kernels) == (Size(values=2 * WIDTH), 1)


def test_what_nobody_knows_is_told_with_its_share_of_bytes():
    odd = TraceRow(name="mine.fold", reads=(tensor(1),), writes=(tensor(2),))
    parts = {"": TracedModule(kind="Net", owns=True)}
    model = model_of_trace(trace([product("", 0, 100, 1), odd], parts, [100]))
    (told,) = model.assumed
    assert "mine.fold (1)" in told
    assert model.spread == pytest.approx(1 + 32 / (32 + 64 + 128), rel=0.5)


@pytest.mark.parametrize(
    ("name", "more", "kind"),
    [
        ("aten.mm", {}, RowKind.PRODUCT),
        ("aten.relu", {"pointwise": True}, RowKind.FUSIBLE),
        ("aten.view", {"view": True}, RowKind.FREE),
        ("aten.native_layer_norm", {}, RowKind.NORM),
        ("aten.embedding", {}, RowKind.MOVING),
        ("foretrain.attention", {}, RowKind.ATTENTION),
        ("mine.gemm", {}, RowKind.UNKNOWN),
    ],
)
def test_kind_of_a_row_follows_from_its_name(name, more, kind):
    assert kind_of(TraceRow(name=name, **more)) is kind


def test_unknown_operator_is_suspicious_by_its_name_and_by_much_data():
    big, small = tensor(1, 1024, 1024), tensor(1)
    assert is_suspicious(TraceRow(name="mine.fused_gemm", reads=(big,)))
    assert not is_suspicious(TraceRow(name="mine.fused_gemm", reads=(small,)))
    assert not is_suspicious(TraceRow(name="mine.fold", reads=(big,)))
