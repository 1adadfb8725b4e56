"""The report of `calibrate`."""

from types import MappingProxyType

from rich.console import Console

from foretrain.evidence.calibrate import calibrate_report
from foretrain.evidence.result import Calibrated, Moved
from foretrain.show.terminal import drawn
from foretrain.study.coefficients import SHIPPED


def moved(name, rows):
    return Moved(
        name=name, prior=2e-6, value=3e-6, low=1e-6, high=4e-6, unit="s", score=1.5, rows=rows
    )


def text_of(runs):
    found = Calibrated(
        calibration=SHIPPED,
        moved=(moved("host.gap", runs), moved("links.pcie", 0)),
        folds=MappingProxyType({}),
        rows=tuple("abc")[:runs],
        error=0.1,
    )
    console = Console(width=100)
    with console.capture() as captured:
        console.print(drawn(calibrate_report(None, found)))
    return captured.get()


def test_what_runs_tell_of_is_shown_before_and_after():
    row = next(line for line in text_of(3).splitlines() if line.startswith("host.gap"))
    assert row.split() == [
        "host.gap",
        "2e-06",
        "s",
        "3e-06",
        "s",
        "1e-06",
        "to",
        "4e-06",
        "+1.50",
        "3",
    ]


def test_what_no_run_tells_of_is_named():
    assert "No run tells of links.pcie." in text_of(3)


def test_one_run_is_met_so_that_its_error_says_nothing():
    assert "fitted to 3 runs; it predicts them 11 % off" in text_of(3)
    assert "fitted to 1 run\n" in text_of(1)
