"""What a command found stands between two marks of a page, or below it."""

from validation.parts.pages import put_between, shows

MARKS = ("<!-- begin -->", "<!-- end -->")


def test_what_stood_between_the_marks_is_replaced_and_nothing_else():
    page = "# Title\n<!-- begin -->\nold\nolder\n<!-- end -->\nText.\n"
    assert put_between(page, MARKS, "new") == "# Title\n<!-- begin -->\nnew\n<!-- end -->\nText.\n"


def test_putting_the_same_again_changes_nothing():
    once = put_between("<!-- begin --><!-- end -->", MARKS, "a\nb")
    assert put_between(once, MARKS, "a\nb") == once


def test_a_page_shows_what_is_printed_but_for_what_it_leaves_out():
    page = "Text.\n\n```console\n$ python -m it\nrows:   3\n...\n  7 kept\n```\n"
    assert shows(page, "python -m it", "rows: 3\nmore\nand more\n 7 kept\n")
    assert not shows(page, "python -m it", "rows: 4\nmore\n 7 kept\n")
    assert not shows(page, "python -m other", "")
