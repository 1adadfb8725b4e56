"""Whatever a page asks in a file and a line could ask, its page asks in one line too."""

import itertools
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from foretrain.app.question import Spoken, asked_study
from foretrain.study.study import study_from
from foretrain.workload.library.entries import known
from tests.test_docs import PAGES, name_of, snippets

SECTIONS = {"workload", "cluster", "trainer", "plan", "search"}
VERBS = ("estimate", "search", "explain", "compare", "export", "calibrate")
LINE = re.compile(rf"foretrain (?:{'|'.join(VERBS)}) ([^`\n]*)")
OPTIONS = {"--on": "on", "--batch": "batch", "--sequence": "sequence", "--image": "image"}


def in_a_line(document):
    """Whether a line can say all of a document: a model, nodes of a cluster, keys with values."""
    if not {"workload", "cluster"} <= document.keys() <= SECTIONS:
        return False
    model, cluster = document["workload"].get("model"), document["cluster"]
    # Code is no key of a line: it lies beside a file.
    plain = isinstance(model, str) and known(model) is not None and "collectives" not in cluster
    tables = "[[" in json.dumps(document) or any(
        isinstance(it, list) and it and isinstance(it[0], dict)
        for section in document.values()
        for it in section.values()
    )
    return plain and {"name", "nodes"} <= cluster.keys() and not tables


def lines(page):
    """The questions in one line of a page, each as a study."""
    for found in LINE.findall(page.read_text()):
        words = shlex.split(found)
        if not words or known(words[0]) is None:
            continue
        said = {"settings": []}
        for option, value in itertools.pairwise(words):
            if option == "--set":
                said["settings"].append(value)
            elif option in OPTIONS:
                name = OPTIONS[option]
                said[name] = value if name == "on" else int(value)
        if "on" in said or any(each.startswith("cluster.") for each in said["settings"]):
            yield asked_study(Path(words[0]), Spoken(**said))


def studies(page):
    texts = [(it.title, it.text) for it in snippets(page) if it.language == "toml" and it.title]
    found = ((title, tomllib.loads(text)) for title, text in texts)
    return {title: study_from(it) for title, it in found if in_a_line(it)}


ASKED = [page for page in PAGES if studies(page)]


def test_most_how_to_pages_ask_something_that_a_line_could_ask():
    assert len([page for page in ASKED if page.parent.name == "how-to"]) >= 9


@pytest.mark.parametrize("page", ASKED, ids=name_of)
def test_page_asks_in_one_line_what_its_file_asks(page):
    asked = [*lines(page)]
    missing = [title for title, study in studies(page).items() if study not in asked]
    assert not missing
