"""Curves of one collective: bandwidths as `nccl-tests` has them, and what is said of them."""

from dataclasses import replace

import pytest

from foretrain.plan.study import CollectiveKind, CollectiveStudy
from foretrain.show.report import Drawing, Medium
from foretrain.step.collective import transfer
from foretrain.step.curve import PATTERNS, carried, collective, collective_report
from foretrain.step.estimate import estimate
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT

SIZES = tuple(2.0**power for power in range(10, 34))
STUDY = CollectiveStudy(
    cluster=cluster("dgx-h100", nodes=2),
    kind=CollectiveKind.ALL_REDUCE,
    sizes=SIZES,
    devices=16,
)
every_kind = pytest.mark.parametrize("kind", CollectiveKind)


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        # nccl-tests, doc/PERFORMANCE.md, for 8 ranks.
        (CollectiveKind.ALL_REDUCE, 2 * 7 / 8),
        (CollectiveKind.ALL_GATHER, 7 / 8),
        (CollectiveKind.REDUCE_SCATTER, 7 / 8),
        (CollectiveKind.ALL_TO_ALL, 7 / 8),
        (CollectiveKind.BROADCAST, 1.0),
        (CollectiveKind.SEND_RECEIVE, 1.0),
    ],
)
def test_bus_bandwidth_is_that_of_nccl_tests(kind, share):
    assert carried(kind, 8) == share


def test_printed_bandwidths_of_a_published_row_belong_together():
    # aws-nccl-0102: 17179869184 bytes in 62239 us among 8: 276.03 and 483.05 GB/s are printed.
    algorithm = 17179869184 / 62239e-6
    assert algorithm == pytest.approx(276.03e9, rel=1e-4)
    assert carried(CollectiveKind.ALL_REDUCE, 8) * algorithm == pytest.approx(483.05e9, rel=1e-4)


@every_kind
def test_curve_has_the_seconds_of_the_library(kind):
    study = replace(STUDY, kind=kind)
    seconds = transfer(study.cluster, DEFAULT, PATTERNS[kind], sizes=SIZES)
    found = collective(study)
    assert [each.seconds for each in found.points] == list(seconds)
    for each in found.points:
        assert each.low < each.seconds < each.high
        assert each.algorithm_bandwidth == each.bytes / each.seconds
        assert each.bus_low < each.bus_bandwidth < each.bus_high
        assert each.bus_bandwidth == pytest.approx(carried(kind, 16) * each.algorithm_bandwidth)


def test_intervals_narrow_as_messages_grow():
    wide = [each.high / each.low for each in collective(STUDY).points]
    assert wide[0] > 2
    assert wide[-1] < 1.3


def test_protocols_follow_one_another_by_size():
    found = [each.protocol for each in collective(STUDY).points]
    assert list(dict.fromkeys(found)) == ["LL", "LL128", "Simple"]
    assert all("whole" not in each.algorithm for each in collective(STUDY).points)


def test_half_of_the_best_is_reached_where_it_is_said():
    found = collective(STUDY)
    below = [each for each in found.points if each.bytes < found.half]
    assert all(each.bus_bandwidth < found.best / 2 for each in below)
    assert found.best == max(each.bus_bandwidth for each in found.points)


def test_estimate_answers_a_collective_too():
    assert estimate(STUDY) == collective(STUDY)


@every_kind
def test_report_says_what_the_curve_comes_to(kind):
    study = replace(STUDY, kind=kind, assumed=("assumed something",))
    report = collective_report(study, collective(study))
    assert report.title == f"{kind} of 16 h100-sxm on 2 nodes"
    [section] = report.sections
    page, screen = section.blocks(Medium.PAGE), section.blocks(Medium.SCREEN)
    assert sum(isinstance(each, Drawing) for each in page) == 2
    assert not any(isinstance(each, Drawing) for each in screen)
    article = "An" if kind.startswith("a") else "A"
    assert str(screen[0]).startswith(f"{article} {kind} of 1 KiB takes ")


def test_one_size_needs_no_drawing():
    study = replace(STUDY, sizes=(2.0**30,))
    [section] = collective_report(study, collective(study)).sections
    assert not any(isinstance(each, Drawing) for each in section.blocks(Medium.PAGE))
    assert "a link carries" in str(section.blocks(Medium.SCREEN)[0])
