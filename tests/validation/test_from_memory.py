"""The page of what is said from memory counts what stands in the tree."""

from validation.from_memory import GROUPS, MARKS, PAGE, SAID, group_of, places, table
from validation.parts.pages import put_between


def test_page_counts_exactly_what_stands_in_the_tree():
    page = PAGE.read_text(encoding="utf-8")
    assert put_between(page, MARKS, table()) == page


def test_every_place_has_a_group_and_every_group_a_place():
    assert {group_of(path) for path, _ in places()} == {name for name, *_ in GROUPS}


def test_words_that_a_line_ends_between_count_too():
    assert len(SAID.findall("(from memory) and from \\\nmemory, from\n    # memory")) == 3
