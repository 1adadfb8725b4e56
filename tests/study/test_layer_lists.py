"""Layer lists: every cell that is wrong is told with its line, and a study's plan is priced."""

import pytest

from foretrain.errors import InputError
from foretrain.step.estimate import estimate
from foretrain.study import layer_lists
from foretrain.study.layer_lists import read_layer_list, read_layers
from foretrain.study.problems import Problems
from foretrain.study.study import read_study
from foretrain.study.workload import read_workload

HEADER = "name,kind,channels,input,filters,output,kernel,stride"
LINES = (
    "stem,convolution,3,8x8,16,4x4,3,2",
    "activation,activation,16,4x4,16,4x4,,",
    "pooling,pooling,16,4x4,16,,4,4",
    "classes,connected,16,,10,,,",
)


@pytest.fixture
def written(tmp_path):
    def write(*lines, header=HEADER):
        path = tmp_path / "layers.csv"
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path

    return write


def refusal(path, **fields):
    with pytest.raises(InputError) as found:
        read_layer_list(path, **fields)
    return str(found.value)


def test_list_is_a_network_in_its_order(written):
    model = read_layer_list(written(*LINES))
    assert model.name == "layers"
    assert model.dimensions == 2
    assert [layer.name for layer in model.layers] == ["stem", "activation", "pooling", "classes"]
    assert model.parameters == 3 * 16 * 9 + 160


def test_columns_stand_in_any_order_and_volumes_have_three_sides(written):
    path = written("12 ms,16,conv,convolution,4,6x7x8,1x2x3", header=ROTATED)
    model = read_layer_list(path)
    (operator,) = model.layers[0].operators
    assert (operator.window, operator.weights) == (6.0, 4 * 16 * 6)
    assert operator.seconds + operator.backward_seconds == pytest.approx(0.012)
    assert model.dimensions == 3


ROTATED = "both,filters,name,kind,channels,input,kernel"


def test_every_cell_that_is_wrong_is_told_with_its_line(written):
    told = refusal(
        written(
            "stem,convolutoin,3,8x8,16,4x4,3,2",
            "pooling,pooling,0,4x4,16,,4.5,4",
            ",connected,16,,10,,,",
            "short,connected",
        )
    )
    for expected in (
        "layers.csv has 5 problems",
        "line 2: kind: unknown 'convolutoin'. Did you mean 'convolution'?",
        "line 3: channels: '0' is no whole number of at least 1.",
        "line 3: kernel: '4.5' is no whole number of at least 1.",
        "line 4: name: is missing.",
        "line 5: has 2 cells, the header has 8.",
    ):
        assert expected in told


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("name,kind,channels", "a,other,1", "column 'filters': is missing."),
        (f"{HEADER},wieghts", "", "column 'wieghts': unknown key. Did you mean 'weights'?"),
        (f"{HEADER},kind", "", "column 'kind': stands there twice."),
        (f"{HEADER},both", "a,other,1,,1,,,,3", "line 2: both: '3' has no unit; wanted a time."),
        (f"{HEADER},forward", "a,other,1,,1,,,,3 s", "line 2: backward: is missing"),
        (HEADER, "a,other,1,2x2,1,2,,", "'a': output: has 1 sides; the samples have 2."),
        (HEADER, "a,pooling,1,2x2,1,1x1,2x2x2,", "'a': kernel: has 3 sides; the samples have 2."),
        (HEADER, "a,other,1,2x2x2x2,1,,,", "line 2: input: '2x2x2x2' has more than 3 dimensions."),
        (f"{HEADER},groups", "a,convolution,3,2x2,4,2x2,1,1,2", "line 2: groups: 2 do not divide"),
        (HEADER, "", "has no layers."),
    ],
)
def test_what_is_no_list_is_refused(written, header, line, message):
    assert message in refusal(written(line, header=header))


def test_single_pixels_have_as_many_sides_as_samples(written):
    layers = read_layers(written(*LINES))
    assert [layer.picture.sides for layer in layers] == [(8, 8), (4, 4), (4, 4), (1, 1)]
    assert [layer.result.sides for layer in layers] == [(4, 4), (4, 4), (1, 1), (1, 1)]


def test_time_that_cannot_be_spread_names_the_file(written):
    path = written("a,other,1,,1,,,")
    assert refusal(path, seconds=1.0).startswith(f"{path}: no layer computes anything")
    assert refusal(written("a,other,1,,1,,,,3 s", header=f"{HEADER},both"), seconds=1.0).endswith(
        "layer 'a' has seconds of its own; leave out those of the whole network."
    )


def test_list_has_a_limit(written, monkeypatch):
    monkeypatch.setattr(layer_lists, "MOST_LAYERS", 2)
    assert len(read_layers(written(*LINES[:2]))) == 2
    assert "has more than 2 layers" in refusal(written(*LINES[:3]))


@pytest.mark.parametrize("sides", ["1000000000", "1"])
def test_sides_are_counted_up_to_a_thousand_million(written, sides):
    (layer,) = read_layers(written(f"a,other,1,{sides},1,{sides},,"))
    assert layer.picture.sides == (int(sides),)
    assert "is no whole number of at least 1" in refusal(
        written(f"a,other,1,{sides}0000000000,1,,,")
    )


def test_two_rows_of_one_name_are_refused(written):
    assert "line 3: name: 'stem' is the layer of line 2 already." in refusal(
        written(LINES[0], LINES[0])
    )


def test_study_names_a_list_and_how_long_its_network_takes(tmp_path, written):
    written(*LINES)
    study = tmp_path / "study.toml"
    study.write_text(
        """
[workload]
model = { layer_list = "layers.csv", seconds = "6 ms" }
global_batch = 32
precision = "fp32"

[cluster]
name = "dgx-1-v100"
nodes = 1

[plan]
data = 8
micro_batch = 4
"""
    )
    found = estimate(read_study(study))
    assert found.parts.forward + found.parts.backward == pytest.approx(4 * 6e-3, rel=0.1)
    assert "layers.csv" in found.sources


def workload_refusal(folder, **keys):
    problems = Problems("study.toml")
    read_workload({"global_batch": 8, **keys}, problems, folder)
    return " ".join(text for _, text in problems.found)


def test_list_is_of_samples_of_one_size_and_lies_beside_a_study(tmp_path, written):
    written(*LINES)
    assert "of samples of one size" not in workload_refusal(tmp_path, model="layers.csv")
    assert "for samples of one size" in workload_refusal(tmp_path, model="layers.csv", image=224)
    assert "only a study in a file can name" in workload_refusal(None, model="layers.csv")
    assert "no such file" in workload_refusal(tmp_path, model="missing.csv")
    listed = {"layer_list": "layers.csv", "time": "3 s"}
    assert "time: unknown key." in workload_refusal(tmp_path, model=listed)
