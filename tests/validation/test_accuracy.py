"""Claims about accuracy: bars, drops, and the table that the README shows."""

import tomllib
from dataclasses import replace

import pytest
from validation.accuracy import RECORDED
from validation.cluster import RECORDED as CLUSTER
from validation.ensemble import RECORDED as ENSEMBLE
from validation.parts.claims import Claim, table
from validation.parts.record import as_toml, drops, markdown, recorded, shown_in
from validation.software import RECORDED as SOFTWARE

MOST = Claim(name="error", figure=0.10, most=0.12)
LEAST = Claim(name="order", figure=0.95, least=0.9)
BOTH = Claim(name="inside", figure=0.8, least=0.75, most=0.87)
TOLD = Claim(name="hybrids", figure=0.4)


@pytest.mark.parametrize(
    ("claim", "figure", "kept"),
    [
        (MOST, 0.12, True),
        (MOST, 0.13, False),
        (LEAST, 0.89, False),
        (BOTH, 0.9, False),
        (BOTH, 0.7, False),
        (BOTH, 0.8, True),
        (TOLD, 0.4, None),
        (MOST, None, None),
    ],
)
def test_a_bar_is_kept_up_to_and_including_its_end(claim, figure, kept):
    assert replace(claim, figure=figure).kept is kept


def test_the_table_says_what_is_missed():
    lines = list(table([MOST, replace(LEAST, figure=0.5), BOTH, TOLD]))
    assert [line.split()[-1] for line in lines] == ["kept", "MISSED", "kept", "40.0%"]
    assert "75.0% to 87.0%" in lines[2]


def before(*claims):
    return tomllib.loads(as_toml(claims, "a.script"))


def test_what_is_recorded_is_not_dropped():
    claims = [MOST, LEAST, BOTH, TOLD]
    assert list(drops(claims, before(*claims))) == []


@pytest.mark.parametrize(
    ("claim", "worse", "better"),
    [(MOST, 0.115, 0.05), (LEAST, 0.93, 0.99), (BOTH, 0.95, 0.76)],
)
def test_a_figure_that_is_worse_than_recorded_has_dropped(claim, worse, better):
    assert list(drops([replace(claim, figure=worse)], before(claim)))
    assert not list(drops([replace(claim, figure=better)], before(claim)))


def test_a_figure_that_is_only_reported_does_not_drop():
    assert not list(drops([replace(TOLD, figure=0.5)], before(TOLD)))


def test_a_noisy_figure_drops_only_below_its_bar():
    noisy = replace(MOST, noisy=True)
    assert not list(drops([replace(noisy, figure=0.119)], before(noisy)))
    assert list(drops([replace(noisy, figure=0.13)], before(noisy)))


def test_a_figure_that_is_gone_has_dropped():
    assert "GONE" in next(drops([], before(MOST)))
    assert list(drops([replace(MOST, figure=None)], before(MOST)))


def test_a_claim_that_is_new_cannot_have_dropped():
    assert not list(drops([MOST], {}))


def test_the_table_takes_the_place_of_the_one_before():
    first, last = around = RECORDED.around
    text = f"before\n{first}\nold\n{last}\nafter\n"
    once = shown_in(text, before(MOST, TOLD), around=around)
    assert "| error | <= 12.0% | 10.0% | kept |" in once
    assert "hybrids" not in once
    assert "old" not in once
    assert (once.startswith("before\n"), once.endswith("\nafter\n")) == (True, True)
    assert shown_in(once, before(MOST, TOLD), around=around) == once


@pytest.mark.parametrize(
    "kept", [RECORDED, CLUSTER, ENSEMBLE, SOFTWARE], ids=lambda kept: kept.mark
)
def test_a_page_shows_what_is_recorded(kept):
    assert markdown(recorded(kept.path)) in kept.page.read_text("utf-8")
