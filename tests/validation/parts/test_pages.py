"""What a command found stands between two marks of a page."""

from validation.parts.pages import put_between

MARKS = ("<!-- begin -->", "<!-- end -->")


def test_what_stood_between_the_marks_is_replaced_and_nothing_else():
    page = "# Title\n<!-- begin -->\nold\nolder\n<!-- end -->\nText.\n"
    assert put_between(page, MARKS, "new") == "# Title\n<!-- begin -->\nnew\n<!-- end -->\nText.\n"


def test_putting_the_same_again_changes_nothing():
    once = put_between("<!-- begin --><!-- end -->", MARKS, "a\nb")
    assert put_between(once, MARKS, "a\nb") == once
