"""Rows of single devices: which networks are one family."""

import csv
from collections import Counter

import pytest
from validation.single_device import HERE, SOURCE, families

FAMILY = families()


def names():
    with (HERE / "tables" / "single_device.csv").open(encoding="utf-8", newline="") as lines:
        return [row["model"] for row in csv.DictReader(lines) if row["source_id"] == SOURCE]


def test_every_network_of_the_table_has_one_family():
    counted = Counter(map(FAMILY, names()))
    assert sum(counted.values()) == 838
    assert len(counted) == 29
    assert max(counted.values()) < 0.25 * 838


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gluon_resnet50_v1b", "resnet50"),
        ("tf_efficientnet_b0_ns", "efficientnet_b0"),
        ("deit3_base_patch16_224", "vit_base_patch16_224"),
        ("wide_resnet50_2", "ecaresnet50t"),
    ],
)
def test_who_trained_a_network_does_not_make_its_family(one, other):
    assert FAMILY(one) == FAMILY(other)


@pytest.mark.parametrize(
    ("one", "other"), [("resnest50d", "resnet50"), ("haloregnetz_b", "regnetz_b16")]
)
def test_another_block_is_another_family(one, other):
    assert FAMILY(one) != FAMILY(other)
