"""A remark is a text like any other, and says what it is about."""

import pickle
from copy import deepcopy

import pytest

from foretrain.errors import About, Remark, assumed, nearest, of


def test_a_remark_is_its_text_wherever_it_is_shown():
    remark = Remark("memory may not suffice", about=About.TIGHT)
    assert remark == "memory may not suffice"
    assert f"{remark}" == str(remark) == "memory may not suffice"


def test_what_was_assumed_is_told_without_the_word_where_a_label_has_it():
    assert (assumed("bf16"), assumed("bf16").brief) == ("assumed bf16", "bf16")


@pytest.mark.parametrize("again", [deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_are_about_the_same(again):
    copy = again(Remark("plan.schedule = 1f1b", about=About.ASSUMED, key="plan.schedule"))
    assert (copy, copy.about, copy.brief, copy.key) == (
        "plan.schedule = 1f1b",
        About.ASSUMED,
        "plan.schedule = 1f1b",
        "plan.schedule",
    )


def test_texts_are_told_apart_by_what_they_are_about_whatever_they_say():
    texts = ("assumed by nobody", assumed("bf16"), Remark("assumed?", about=About.TIGHT))
    assert of(texts, About.ASSUMED) == (texts[1],)
    assert of(texts, About.TIGHT) == (texts[2],)


def test_a_word_that_is_a_part_of_known_ones_means_them_and_not_what_is_spelt_like_it():
    devices = ("a10", "a100-pcie-80gb", "A100-SXM-80GB", "aws-p4d-24xlarge")
    assert nearest("A100", devices) == " Did you mean 'a100-pcie-80gb' or 'A100-SXM-80GB'?"
    assert nearest("p4d", devices) == " Did you mean 'aws-p4d-24xlarge'?"
    assert nearest("a11", devices) == " Did you mean 'a10'?"
    assert nearest("nothing", devices) == nearest("", devices) == ""


def test_a_message_offers_a_few_words_of_many():
    assert nearest("dgx", [f"dgx-{number}" for number in range(9)]).count("dgx") == 4
