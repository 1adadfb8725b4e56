"""Price lists: the user's own prices, each with the day it was so."""

from datetime import date, timedelta

import pytest

from foretrain.errors import InputError
from foretrain.study.own_entries import read_prices
from foretrain.study.study import read_study, study_from

STUDY = """
[workload]
model = "llama-3-8b"
global_batch = 64
sequence = 2048
precision = "bf16"
optimizer = "adamw"

[cluster]
name = "dgx-h100"
nodes = 1
{price}

[plan]
pipeline = 1
"""
LIST = """
[devices."H100 SXM 80GB"]
price = "2.10 USD/h"
date = 2026-10-01

[clusters.lab]
price = "1.40 USD/h"
date = 2026-03-01
"""
TODAY = date(2026, 11, 21)


@pytest.fixture
def asked(tmp_path):
    """A study beside a price list, read on some day."""

    def read(price, listed=LIST, today=TODAY):
        (tmp_path / "prices.toml").write_text(listed)
        (tmp_path / "study.toml").write_text(STUDY.format(price=price))
        return read_study(tmp_path / "study.toml", today=today)

    return read


def test_price_of_a_list_takes_the_place_of_the_catalogues(asked):
    found = asked('prices = "prices.toml"')
    assert found.cluster.price == 2.1 / 3600
    assert found.cluster.price_date == "2026-10-01"
    assert found.assumed == ()


def test_price_of_a_cluster_goes_before_that_of_its_device(asked):
    both = LIST + '[clusters."DGX H100"]\nprice = "2.50 USD/h"\ndate = 2026-10-02'
    assert asked('prices = "prices.toml"', both).cluster.price == 2.5 / 3600


def test_old_price_is_told_with_its_age(asked):
    [remark] = asked('prices = "prices.toml"', today=date(2027, 10, 1)).assumed
    assert remark == (
        "cluster.price = 2.1 USD/h per device (yours of 2026-10, 365 days old: look it up again)"
    )


def test_example_of_the_catalogue_is_told_and_ages_too(asked):
    [fresh] = asked("", today=date(2025, 7, 1)).assumed
    [old] = asked("").assumed
    assert fresh == "cluster.price = 6.88 USD/h per device (the catalogue's example of 2025-06)"
    assert old == f"{fresh[:-1]}, 538 days old: look it up again)"


def test_price_in_the_study_ages_only_where_it_has_a_date(asked):
    plain = asked('price = "2 USD/h"')
    assert (plain.cluster.price_date, plain.assumed) == (None, ())
    [remark] = asked('price = "2 USD/h"\nprice_date = 2026-01-01').assumed
    assert "324 days old" in remark


@pytest.mark.parametrize(("days", "told"), [(0, 0), (180, 0), (181, 1)])
def test_price_is_old_after_180_days(asked, days, told):
    since = TODAY - timedelta(days=days)
    assert len(asked(f'price = "2 USD/h"\nprice_date = {since}').assumed) == told


def test_price_of_a_day_to_come_is_told(asked):
    listed = LIST.replace("2026-10-01", "2026-11-22")
    for price in ('price = "2.10 USD/h"\nprice_date = 2026-11-22', 'prices = "prices.toml"'):
        [remark] = asked(price, listed).assumed
        assert remark == (
            "cluster.price = 2.1 USD/h per device (yours of 2026-11, a day to come: correct its "
            "date)"
        )


@pytest.mark.parametrize("written", ["2025-02-30", "May", ""])
def test_day_that_is_none_is_refused(asked, written):
    with pytest.raises(InputError, match=rf"cluster\.price_date: '{written}' is not a day"):
        asked(f'price = "2 USD/h"\nprice_date = "{written}"')


@pytest.mark.parametrize(
    ("price", "listed", "told"),
    [
        ('prices = "prices.toml"\nprice = "2 USD/h"', LIST, "the study has a price too"),
        ('prices = "none.toml"', LIST, "there is no such file"),
        ("prices = 3", LIST, "is the name of a price list"),
        ('prices = "prices.toml"', "[clusters]", r"neither \[clusters.dgx-h100\] nor"),
    ],
)
def test_price_list_that_cannot_be_used_is_refused(asked, price, listed, told):
    with pytest.raises(InputError, match=rf"cluster\.prices: .*{told}"):
        asked(price, listed)


def test_study_that_is_no_file_reads_no_other_file():
    cluster = {"name": "dgx-h100", "nodes": 1, "prices": "prices.toml"}
    workload = {"model": "llama-3-8b", "global_batch": 64}
    with pytest.raises(InputError, match=r"cluster\.prices: is the name of a price list"):
        study_from({"workload": workload, "cluster": cluster}, "page")


def test_every_mistake_of_a_list_is_told_in_one_go(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(
        '[device]\n[devices]\nt4 = 3\n[devices.l4]\nprice = "1 USD"\n[clusters.lab]\ndate = "May"'
    )
    with pytest.raises(InputError) as refusal:
        read_prices(path)
    head, *lines = str(refusal.value).splitlines()
    assert head == f"{path} has 6 problems."
    for line, start in zip(
        lines,
        [
            "- device: unknown key. Did you mean 'devices'?",
            "- devices.t4: 3 is not a table of price and date.",
            "- devices.l4.price: '1 USD' is an amount of money; wanted a price per time.",
            "- devices.l4.date: is missing.",
            "- clusters.lab.price: is missing.",
            "- clusters.lab.date: 'May'",
        ],
        strict=True,
    ):
        assert line.startswith(start)


@pytest.mark.parametrize(("other", "told"), [("2026-10-31", 0), ("2026-11-01", 1)])
def test_prices_that_are_compared_are_of_one_age_or_that_is_told(asked, other, told):
    offers = f"""
offers = [
  {{ name = "dgx-h100", price = "3 USD/h", price_date = 2026-10-01 }},
  {{ name = "dgx-a100", price = "2 USD/h", price_date = {other} }},
]"""
    studied = asked(offers).assumed
    apart = [remark for remark in studied if "days between them" in remark]
    assert len(apart) == told
    assert apart == told * [
        "cluster.price = 31 days between them (dgx-h100's of 2026-10, dgx-a100's of 2026-11): "
        "bring them to one day before you compare costs"
    ]
