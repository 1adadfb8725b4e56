"""Goldens of the oracle: layer lists have the published totals, and every printed output is met."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.examples import slow
from validation.paradl import fitted
from validation.paradl.__main__ import main
from validation.paradl.goldens import COEFFICIENTS, TABLES, error_of, goldens, model_of
from validation.paradl.measured import Ranking, accuracy, cells, rankings
from validation.paradl.variants import KNOWN

from foretrain.coefficients.coefficients import Origin
from foretrain.study.coefficients import PRIORS, SHIPPED, read_calibration, shipped_sets

PAGE = Path(__file__).parents[2] / "docs" / "background" / "oracle.md"

TOTALS = {
    "resnet-50": (166, 22_734_016, 29_790_964, 49, 9_096_256),
    "vgg-16": (38, 169_801_408, 31_258_100, 13, 13_939_200),
}
"""Rows, weights, values beside norms and activations, convolutions, what those write."""


@pytest.mark.parametrize("network", TOTALS)
def test_layer_lists_have_the_published_totals(network):
    model = model_of(network, ("buffers-apart",))
    operators = [each for _, each in model.operators]
    convolutions = [each for each in operators if each.matrices and each.matrices.rows > 1]
    assert (
        len(operators),
        sum(each.weights for each in operators),
        # Two gradients of each value are held beside it.
        sum(each.kept.values for each in operators) / 2,
        len(convolutions),
        sum(each.matrices.rows * each.matrices.columns for each in convolutions),
    ) == TOTALS[network]
    seconds = sum(each.seconds + each.backward_seconds for each in operators)
    known = {row[0]: row[-1] for row in TABLES["paradl-layer-files"]["rows"]}
    assert seconds == pytest.approx(known[network], rel=1e-12)


def name(golden):
    return f"{golden.strategy}-{golden.network}-{golden.devices}-{golden.quantity}"


@pytest.mark.parametrize("golden", [*goldens()], ids=name)
def test_every_golden_is_met(golden):
    assert abs(error_of(golden)) <= golden.bar


def test_variants_that_a_golden_names_are_known_and_told_and_all_of_them_are_used():
    assert {each for golden in goldens() for each in golden.variants} == {*KNOWN}
    told = PAGE.read_text("utf-8")
    assert all(f"`{each}`" in told for each in KNOWN)


@pytest.mark.parametrize("variant", KNOWN)
def test_variant_that_is_left_out_is_missed(variant):
    without = (
        replace(golden, variants=tuple(each for each in golden.variants if each != variant))
        for golden in goldens()
        if variant in golden.variants
    )
    assert any(abs(error_of(golden)) > golden.bar for golden in without)


def test_bar_is_what_was_printed():
    bars = {golden.value: golden.bar for golden in goldens()}
    assert bars[1996.48128] == 1e-6
    assert bars[40.1] == pytest.approx(0.05 / 40.1)


def test_every_golden_is_printed_and_one_that_is_missed_fails(capsys, monkeypatch):
    assert main() == 0
    assert capsys.readouterr().out.count("\n| ") == len([*goldens()])
    monkeypatch.setattr("validation.paradl.__main__.error_of", lambda golden: 2e-3)
    assert main() == 1


def test_cosmoflow_of_the_list_has_the_published_weights_and_time():
    model = model_of("cosmoflow-512")
    assert model.parameters == TABLES["paradl-cosmoflow-parameters"]["value"]
    seconds = sum(each.seconds + each.backward_seconds for _, each in model.operators)
    assert seconds == pytest.approx(2.108143184, rel=1e-12)


def accuracies_in(text):
    """Percentages by table or figure, strategy and cells."""
    rows = re.findall(r"^\| (.+? \| .+? \| \d+) \| (-?\d+)% \| (-?\d+)% \|$", text, re.MULTILINE)
    return {key: (int(ours), int(theirs)) for key, ours, theirs in rows}


def test_page_shows_the_accuracies_that_are_printed(capsys):
    assert main(["--measured"]) == 0
    printed, shown = (accuracies_in(it) for it in (capsys.readouterr().out, PAGE.read_text()))
    assert len(printed) == 11
    assert {*printed} == {*shown}
    for key, (ours, theirs) in printed.items():
        # Small changes of a formula move a percentage by one.
        assert shown[key] == (pytest.approx(ours, abs=2), theirs)


def fitted_in(text):
    """Accuracies of six fitted coefficients, by strategy and cells."""
    rows = re.findall(
        r"^\| ([\w+]+) \| (\d+) ((?:\| \d+\.\d%(?: \*\*missed\*\*)? ?){4})\|$", text, re.M
    )
    return {
        (name, cells): [float(each) for each in re.findall(r"(\d+\.\d)%", shares)]
        for name, cells, shares in rows
    }


@slow
def test_page_shows_what_six_coefficients_of_the_other_networks_reach(capsys):
    missed = fitted.main(["--recorded"])
    printed, shown = (fitted_in(it) for it in (capsys.readouterr().out, PAGE.read_text()))
    assert missed == 1  # as the page says
    assert len(printed) == 6
    assert {*printed} == {*shown}
    assert all(shown[key] == pytest.approx(found, abs=1.0) for key, found in printed.items())


def test_every_case_of_table_8_ranks_as_it_was_measured():
    found = [*rankings()]
    assert len(found) == 8
    assert all(each.right for each in found)
    assert all(each.predicted[0] == each.measured[0] for each in found)
    page = PAGE.read_text()
    assert all(
        f"| {each.network} | {each.devices} | {' < '.join(each.measured)}" in page for each in found
    )


def test_ranking_is_wrong_where_others_than_equals_change_places():
    case = Ranking(
        network="a",
        devices=4,
        measured=("filter", "channel"),
        predicted=("channel", "filter"),
        tied=True,
    )
    assert case.right
    assert not replace(case, tied=False).right
    assert not replace(case, measured=("filter", "data"), predicted=("data", "filter")).right


def test_cells_are_all_but_the_slips_of_the_report():
    found = [*cells()]
    assert Counter(each.source for each in found) == {"table 8": 23, "figure 2": 103}
    assert [each for each in found if each.authors is None] == [
        each for each in found if each.source == "table 8" and not each.authors
    ]
    assert all(each.measured > 0 for each in found)


def test_accuracy_is_one_for_the_measurement_and_falls_on_both_sides():
    assert accuracy(3.0, 3.0) == 1.0
    assert accuracy(2.0, 4.0) == accuracy(6.0, 4.0) == 0.5


def test_source_knows_the_oracle_by_its_coefficients_alone():
    source = Path(__file__).parents[2] / "src"
    naming = [
        path.name
        for path in source.rglob("*")
        if path.suffix in {".py", ".toml"} and "paradl" in path.read_text("utf-8").lower()
    ]
    assert naming == ["paradl-2020.toml"]


def test_sets_that_come_along_are_read_by_name():
    assert {"paradl-2020", "priors", SHIPPED.name} == {*shipped_sets()}
    for each in shipped_sets():
        assert read_calibration(Path(each)).name == each
    known = read_calibration(Path("paradl-2020")).known
    stated = {each for each, it in known.items() if it != PRIORS.known[each]}
    assert {known[each].kind for each in stated} == {Origin.PUBLISHED}
    assert all(known[each].source.startswith("kahira2021") for each in stated)
    assert COEFFICIENTS.links.start == 0
