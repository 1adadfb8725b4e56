"""Real parameter servers: recorded runs are predicted, and what ran is what was meant to run."""

import json
from dataclasses import replace
from itertools import product
from statistics import fmean

import pytest
from tests.examples import slow
from tests.needs import needs
from validation.testbed import servers_campaign
from validation.testbed.lab import missing
from validation.testbed.servers import CASES, MEBI, ServersCase

from validation import servers_testbed

SHORT = 3.0
"""Seconds of a run."""


@pytest.fixture(scope="module")
def record():
    return json.loads(servers_testbed.RECORD.read_text("utf-8"))


@pytest.fixture(scope="module")
def found(record):
    return servers_testbed.rows(record)


@slow
def test_errors_are_within_what_they_must_be(found):
    assert servers_testbed.holds([row.error for row in found])


def test_errors_of_what_was_written_before_the_runs_are_too(found):
    assert servers_testbed.holds([row.blind_error for row in found])


def test_predictions_were_written_before_anything_ran(record):
    assert record["predictions"]["written"] <= record["began"] < record["ended"]


def test_simulation_of_today_says_on_average_what_was_written_then(found):
    changed = [abs(row.simulated / row.predicted - 1) for row in found]
    assert fmean(changed) <= 0.02


def test_first_campaign_showed_that_links_are_not_shared_fairly():
    first = json.loads(servers_testbed.EARLIER["first"].read_text("utf-8"))
    assert not servers_testbed.holds(servers_testbed.blind_errors(first))


@pytest.mark.parametrize("campaign", ["second", "third"])
def test_where_queues_lose_bytes_all_but_the_case_that_loses_most_are_predicted(campaign):
    record = json.loads(servers_testbed.EARLIER[campaign].read_text("utf-8"))
    lost = [run["again"] for run in record["runs"]]
    errors = servers_testbed.blind_errors(record)
    worst = errors.pop(lost.index(max(lost)))
    assert servers_testbed.holds(errors)
    assert worst > 0.15


def test_every_case_was_measured(found):
    assert tuple(row.case for row in found) == CASES


def test_every_kind_of_updates_was_measured_on_so_many_servers_and_workers():
    kinds = {0: "synchronous", None: "asynchronous"}
    measured = {(kinds.get(case.stale, "stale"), case.servers, case.workers) for case in CASES}
    several = product(["synchronous", "asynchronous", "stale"], [1, 2], [2, 4, 8])
    assert measured >= {*several, ("asynchronous", 1, 1), ("synchronous", 2, 1)}
    assert len(CASES) >= 24


def test_few_runs_were_disturbed(found):
    assert sum(bool(row.disturbed) for row in found) <= len(found) / 10


@slow
def test_links_of_half_the_bandwidth_would_not_be_predicted_so_well(record):
    slow = [
        calibration
        | {
            "sent": {
                who: [2 * time for time in times] for who, times in calibration["sent"].items()
            }
        }
        for calibration in record["calibrations"]
    ]
    rows = servers_testbed.rows(record | {"calibrations": slow})
    assert not servers_testbed.holds([row.error for row in rows])


def test_page_shows_the_recorded_table(found):
    page = servers_testbed.PAGE.read_text("utf-8")
    assert servers_testbed.shown_in(page, found) == page


@pytest.mark.parametrize(
    ("errors", "within"),
    [([0.1, -0.1], True), ([0.11, -0.11], False), ([0.0, -0.2], True), ([0.0, 0.0, 0.21], False)],
)
def test_mean_and_worst_must_both_hold(errors, within):
    assert servers_testbed.holds(errors) is within


def test_status_is_one_where_they_do_not(monkeypatch, found, capsys):
    wrong = [replace(row, simulated=2 * row.measured) for row in found]
    monkeypatch.setattr(servers_testbed, "rows", lambda record: wrong)
    assert servers_testbed.main([]) == 1
    assert "mean error 100.0%" in capsys.readouterr().out


def test_rate_is_that_of_whole_rounds_after_the_warm_up():
    ends = [1000.0, *range(3000, 16000, 500)]
    run = {"workers": 2, "ends": [ends, [end + 1 for end in ends]]}
    assert servers_campaign.rate(run) == pytest.approx(4.0)


@slow
def test_a_synchronous_run_applies_every_gradient_and_nobody_runs_ahead(monkeypatch):
    needs("torch")
    if reason := missing():
        pytest.skip(reason)
    case = ServersCase(
        network="500", servers=2, workers=2, stale=0, size=MEBI,
        compute={"kind": "exponential", "mean": 0.04, "least": 0.01},
    )  # fmt: skip
    monkeypatch.setattr(servers_campaign, "WORKERS", (2,))
    monkeypatch.setattr(servers_campaign, "SECONDS", SHORT)
    (run,) = servers_campaign.measured("500", {"test": case})
    first, second = run["ends"]
    rounds = min(len(first), len(second)) - 1
    assert run["applied"] == [len(first) + len(second)] * 2
    assert rounds > 20
    # a step of one ends after all of the previous steps of the other
    assert all(first[at + 1] > second[at] for at in range(rounds))
    assert all(second[at + 1] > first[at] for at in range(rounds))
