"""Goldens of the oracle: layer lists have the published totals, and every printed output is met."""

from pathlib import Path

import pytest
from validation.paradl.__main__ import main
from validation.paradl.goldens import COEFFICIENTS, SECONDS, error_of, goldens, model_of

from foretrain.coefficients.coefficient import Origin
from foretrain.study.calibration import read_calibration
from foretrain.study.coefficients import PRIORS, SHIPPED, shipped_sets

TOTALS = {
    "resnet-50": (166, 22_734_016, 29_790_964, 49, 9_096_256),
    "vgg-16": (38, 169_801_408, 31_258_100, 13, 13_939_200),
}
"""Rows, weights, values beside norms and activations, convolutions, what those write."""


@pytest.mark.parametrize("network", TOTALS)
def test_layer_lists_have_the_published_totals(network):
    model = model_of(network)
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
    assert seconds == pytest.approx(SECONDS[network], rel=1e-12)


def name(golden):
    return f"{golden.strategy}-{golden.network}-{golden.devices}-{golden.quantity}"


@pytest.mark.parametrize("golden", [*goldens()], ids=name)
def test_every_golden_is_met(golden):
    assert abs(error_of(golden)) <= golden.bar


def test_bar_is_what_was_printed():
    bars = {golden.printed: golden.bar for golden in goldens()}
    assert bars["1996.48128"] == 1e-6
    assert all(1e-6 <= bar < 1e-3 for bar in bars.values())


def test_every_golden_is_printed_and_one_that_is_missed_fails(capsys, monkeypatch):
    assert main() == 0
    assert capsys.readouterr().out.count("\n| ") == len([*goldens()])
    monkeypatch.setattr("validation.paradl.__main__.error_of", lambda golden: 2e-3)
    assert main() == 1


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
