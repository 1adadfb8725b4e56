"""ONNX files: counted by hand, open sizes told, and no broken file is half read."""

from contextlib import suppress
from random import Random

import pytest
from tests.needs import needs

from foretrain.errors import ForetrainError, InputError, MissingExtra
from foretrain.study.study import read_study

onnx = needs("onnx")
helper = onnx.helper
FLOAT, LONG = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64

from foretrain.study.tracing.onnx_file import model_of_onnx  # noqa: E402


def table(name, *shape):
    size = 1
    for side in shape:
        size *= side
    return helper.make_tensor(name, FLOAT, shape, [0.0] * size)


def places(name, *values):
    return helper.make_tensor(name, LONG, (len(values),), values)


def network(nodes, tables, *, given=("N", 3, 8, 8), kind=FLOAT):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", kind, given)],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        tables,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def small_net():
    """A convolution, its norm, a ReLU, a pooling and a product."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["a"], "/blocks/blocks.0/conv/Conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"], "/blocks/blocks.0/norm/Batch"),
        node("Relu", ["c"], ["d"], "/blocks/blocks.0/relu/Relu"),
        node("Conv", ["d", "u"], ["e"], "/blocks/blocks.1/conv/Conv", group=4),
        node("GlobalAveragePool", ["e"], ["f"], "/pool/Pool"),
        node("Shape", ["f"], ["g"]),
        node("Gather", ["g", "first"], ["h"], axis=0),
        node("Concat", ["h", "rest"], ["i"], axis=0),
        node("Reshape", ["f", "i"], ["j"]),
        node("Gemm", ["j", "k", "l"], ["y"], "/classes/Gemm", transB=1),
    ]
    norm = [table(name, 4) for name in "sbmv"]
    more = [places("first", 0), places("rest", -1)]
    weights = [table("w", 4, 3, 3, 3), table("u", 4, 1, 3, 3), table("k", 10, 4), table("l", 10)]
    return network(nodes, [*norm, *weights, *more])


def saved(folder, document, name="net.onnx"):
    path = folder / name
    path.write_bytes(document if isinstance(document, bytes) else document.SerializeToString())
    return path


def read(path, sequence=None, image=None):
    return model_of_onnx(path, sequence=sequence, image=image)


def test_network_is_counted_as_by_hand(tmp_path):
    model = read(saved(tmp_path, small_net()))
    assert model.parameters == 4 * 27 + 8 + 4 * 9 + 40 + 10
    flop = sum(each.flop for _, each in model.operators)
    assert flop == 2 * (27 * 4 * 64 + 9 * 4 * 36 + 40)
    kept = {each.name: each.kept.values for _, each in model.operators}
    assert kept["conv convolution"] in {3 * 64, 4 * 64}
    assert model.dimensions == 2


def test_scopes_of_its_names_are_layers_and_the_backward_pass_is_by_rule(tmp_path):
    model = read(saved(tmp_path, small_net()))
    assert [layer.name for layer in model.layers] == ["blocks.0", "blocks.1", "end"]
    assert "the file has none" in model.assumed[0]
    first, *rest = [each for _, each in model.operators if each.matrices]
    assert first.first
    assert not any(each.first for each in rest)


def test_open_sizes_are_those_of_the_study(tmp_path):
    nodes = [
        helper.make_node("Gather", ["w", "x"], ["a"]),
        helper.make_node("MatMul", ["a", "u"], ["y"]),
    ]
    document = network(nodes, [table("w", 50, 8), table("u", 8, 4)], given=("N", "S"), kind=LONG)
    path = saved(tmp_path, document)
    for sequence in (16, 32):
        model = read(path, sequence=sequence)
        assert (model.tokens, model.parameters) == (sequence, 432)
        assert sum(each.flop for _, each in model.operators) == 2 * sequence * 32
    with pytest.raises(InputError, match=r"input 'x' leaves its side 1 \('S'\) open"):
        read(path)


def test_operator_of_somebody_s_own_is_named(tmp_path):
    nodes = [helper.make_node("Fold", ["x"], ["a"], "/fold/Fold", domain="mine"),
             helper.make_node("Conv", ["a", "w"], ["y"])]  # fmt: skip
    document = network(nodes, [table("w", 4, 3, 3, 3)])
    document.opset_import.append(helper.make_opsetid("mine", 1))
    with pytest.raises(InputError, match=r"Fold \('/fold/Fold'\)|Fold"):
        read(saved(tmp_path, document))


def test_operator_that_nobody_knows_is_priced_by_what_it_moves(tmp_path):
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Det", ["b"], ["y"]),
             helper.make_node("Reshape", ["a", "p"], ["b"])]  # fmt: skip
    nodes = [nodes[0], nodes[2], nodes[1]]
    document = network(nodes, [table("w", 4, 3, 3, 3), places("p", 2, 4, 6, 6)])
    model = read(saved(tmp_path, document))
    assert any("onnx.Det (1)" in told for told in model.assumed)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no ONNX file"),
        (b"hello, this is a text\n", "ONNX file"),
        (small_net().SerializeToString()[:400], "is no whole ONNX file"),
    ],
)
def test_what_is_no_whole_file_is_told(content, told, tmp_path):
    with pytest.raises(InputError, match=told) as error:
        read(saved(tmp_path, content))
    assert "net.onnx: " in str(error.value)


@pytest.mark.parametrize(
    ("node", "weights"), [("Conv", (4, 5, 3, 3)), ("MatMul", (5, 4)), ("Conv", (4, 3, 9, 9))]
)
def test_shapes_that_contradict_one_another_are_told(node, weights, tmp_path):
    document = network([helper.make_node(node, ["x", "w"], ["y"], "/a")], [table("w", *weights)])
    with pytest.raises(InputError, match=r"shapes do not follow|contradict|does not follow"):
        read(saved(tmp_path, document))


def test_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.onnx")


def test_mutants_are_read_or_told_in_one_message(tmp_path):
    sound = small_net().SerializeToString()
    random = Random(20)
    for _ in range(300):
        mutant = bytearray(sound)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(len(mutant))
            change = random.randrange(3)
            if change == 0:
                mutant[place] = random.randrange(256)
            elif change == 1:
                del mutant[place : place + random.randint(1, 20)]
            else:
                mutant[place:place] = bytes(random.randrange(256) for _ in range(3))
        with suppress(ForetrainError):
            assert read(saved(tmp_path, bytes(mutant))).parameters > 0


def test_study_names_a_file_beside_it(tmp_path):
    saved(tmp_path, small_net())
    (tmp_path / "study.toml").write_text(
        '[workload]\nmodel = "net.onnx"\nglobal_batch = 8\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n[plan]\nmicro_batch = 1\n'
    )
    model = read_study(tmp_path / "study.toml").workload.model
    assert (model.name, model.source) == ("net", "net.onnx")


def test_without_onnx_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("foretrain.errors.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"foretrain\[onnx\]"):
        read(saved(tmp_path, small_net()))


def test_exported_resnet_is_the_library_s(tmp_path):
    torch = needs("torch")
    import warnings

    from tests.study.tracing.networks import resnet_50

    path = tmp_path / "resnet.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training = torch.onnx.TrainingMode.TRAINING
        torch.onnx.export(
            resnet_50(), torch.zeros(2, 3, 224, 224), path, dynamo=False, training=training,
            do_constant_folding=False, input_names=["x"], dynamic_axes={"x": {0: "N"}},
        )  # fmt: skip
    from foretrain.workload.library.entries import build

    model, known = read(path), build("resnet-50", image=224)
    assert model.parameters == known.parameters
    ours, theirs = (
        sum(layer.repeats * each.flop for layer, each in it.operators) for it in (model, known)
    )
    assert ours == pytest.approx(theirs, rel=0.01)
    assert model.cuttable_layers == known.cuttable_layers
