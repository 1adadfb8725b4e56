import csv
from collections import Counter
from pathlib import Path

import pytest
from tests.tables import published

from foretrain.errors import InputError
from foretrain.study.measurements import INVENTORY_COLUMNS, read_inventories, read_measurements
from foretrain.workload.library.entries import SampleKind, build, known

TABLES = Path(__file__).parents[2] / "validation" / "tables"
HEADER = ",".join(INVENTORY_COLUMNS)
SMALL = (
    "small,8,1000,4096,3@8>16@4/3; 16@4>16@4/1x3 g16 x2,1x16>10; 2*4x8>4 x3,"
    "pooling 10 2 1 / 12.5 1e+03 1,by hand"
)


@pytest.fixture(scope="module")
def inventories():
    return read_inventories(TABLES / "networks.csv").known


@pytest.fixture
def written(tmp_path):
    def write(*lines):
        path = tmp_path / "networks.csv"
        path.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
        return path

    return write


def stated():
    with (TABLES / "single_device.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["params_m"]]
    return {(row["model"], row["input"]): row for row in rows}


def test_short_forms_are_read(written):
    found = read_inventories(written(SMALL)).known["small", 8]
    stem, narrow = found.convolutions
    assert (stem.picture.channels, stem.result.sides, stem.window) == (3, (4, 4), (3, 3))
    assert (narrow.window, narrow.groups, narrow.count) == ((1, 3), 16, 2)
    classes, scores = found.products
    assert (classes.weights, classes.matrices.columns, classes.count) == (True, 10, 1)
    assert (scores.weights, scores.matrices.batch, scores.count) == (False, 2, 3)
    assert found.moves[0].backward.full == 1000


def test_every_line_that_is_wrong_is_named_and_costs_no_other(written):
    path = written(SMALL, SMALL.replace("1x16>10", "1x16"), SMALL.replace("small,8", "large,x"))
    found = read_inventories(path)
    assert [*found.known] == [("small", 8)]
    assert found.wrong["small"].startswith("networks.csv: line 3: '1x16' is of no form")
    assert found.wrong["large"].startswith("networks.csv: line 4: ")


def test_network_that_cannot_be_read_is_why_its_rows_are_not_predicted(written):
    path = written(SMALL.replace("1x16>10", "1x16")).with_name("single_device.csv")
    path.write_text("id,source_id,model,input,step_time_s\na,ours,small,8,1\nb,ours,other,8,1\n")
    wrong, other = read_measurements(path)
    assert wrong.reason.startswith("networks.csv: line 2: '1x16'")
    assert other.measured == 1.0


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "networks.csv"
    path.write_text("name,image\n", encoding="utf-8")
    with pytest.raises(InputError, match="columns must be"):
        read_inventories(path)


def test_parameters_are_those_that_the_source_of_the_times_states(inventories):
    rows = stated()
    wrong = {
        key: (inventory.parameters, rows[key[0], str(key[1])]["params_m"])
        for key, inventory in inventories.items()
        if abs(inventory.parameters / 1e6 / float(rows[key[0], str(key[1])]["params_m"]) - 1) > 0.01
    }
    assert not wrong


def test_products_and_convolutions_are_what_the_source_counts_but_for_norms(inventories):
    """The source counts norms, activations and pooling too: a few per cent of small networks."""
    rows, errors = stated(), Counter()
    for (name, image), inventory in inventories.items():
        text = rows[name, str(image)]["gmacs_fwd"]
        if text and float(text) > 1:
            error = abs(inventory.flop / 2e9 / float(text) - 1)
            errors["within 2 %"] += error <= 0.02
            errors["within 7 %"] += error <= 0.07
            errors["all"] += 1
    assert errors["within 2 %"] >= 0.7 * errors["all"]
    assert errors["within 7 %"] >= 0.98 * errors["all"]


@pytest.fixture(scope="module")
def both(inventories):
    """The networks that the library builds, as it builds them and as they were listed."""
    entries = {key: known(key[0]) for key in inventories}
    return [
        (build(entry.name, image=key[1]), inventories[key])
        for key, entry in entries.items()
        if entry is not None and entry.reads is SampleKind.IMAGE
    ]


def total(model, quantity):
    return sum(layer.repeats * quantity(each) for layer in model.layers for each in layer.operators)


def test_the_library_computes_what_published_code_computes(both):
    assert len(both) >= 37
    for built, listed in both:
        flop = total(built, lambda operator: operator.flop)
        assert flop == pytest.approx(listed.flop, rel=1e-3), listed.name
        assert built.parameters == pytest.approx(listed.parameters, rel=1e-3), listed.name


def test_the_library_keeps_what_published_code_keeps(both):
    """But for masks of dropout and pooling: small, except in a VGG."""
    shares = [
        total(built, lambda operator: 2 * operator.kept.values + operator.kept.fixed) / listed.kept
        for built, listed in both
        if not listed.name.startswith(("vgg", "mobilenet"))
    ]
    assert min(shares) > 0.85
    assert max(shares) < 1.01


def test_rows_of_single_devices_carry_the_list_beside_their_table():
    runs = published("single_device")
    listed = sum(run.network.inventory is not None for run in runs)
    assert listed >= 0.87 * len(runs)
