"""The page of a search: one file that is complete in itself."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests import builders

from foretrain.plan.study import Limit, Objective
from foretrain.report.page import search_page
from foretrain.report.words import MEMORY, PARTS

VOID = {"meta"}


class Outline(HTMLParser):
    """Checks that elements close in order, and gathers what the page points at."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.names, self.tags = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in {"href", "src", "action", "data", "srcset"}:
                self.links.append(value)
            if name == "id":
                self.names.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(**changes):
    result = builders.search_result(**changes)
    return search_page(builders.study(), result, builders.provenance())


def outline(text):
    parser = Outline()
    parser.feed(text)
    return parser


def test_page_points_at_nothing_but_itself():
    found = outline(page())
    assert all(link.startswith("#") for link in found.links)
    assert {link.removeprefix("#") for link in found.links} <= set(found.names)


def test_page_loads_nothing():
    text = page()
    assert not {"script", "link", "img", "iframe", "object"} & set(outline(text).tags)
    assert not re.search(r"url\(|@import|https?://", text)


def test_page_is_light():
    assert len(page().encode()) < 100_000


def test_elements_close_in_order_and_names_are_unique():
    found = outline(page())
    assert found.open == []
    assert len(found.names) == len(set(found.names))


def test_page_has_every_section():
    text = page()
    for name in ("best", "time", "memory", "ranking", "front", "rejected", "inputs"):
        assert f'<h2 id="{name}">' in text


def test_page_says_versions_inputs_and_sources():
    text = page()
    for words in ("0.1.0", "4f2a" * 16, "default-1", "nccl-tests", "korthikanti2022"):
        assert words in text


def test_page_shows_amount_objective_and_limits_back():
    limit = Limit(devices=512, cost=30e6, deadline=300 * 86_400.0)
    asked = builders.study(limit=limit, objective=Objective.COST)
    text = search_page(asked, builders.search_result(), builders.provenance())
    for label, told in (
        ("Amount", "15 T tokens"),
        ("Objective", "cost"),
        ("Limits", "512 devices, 30 MUSD, deadline 300 d"),
    ):
        assert f"<dt>{label}</dt><dd>{told}</dd>" in text
    assert "<dt>Limits</dt><dd>none</dd>" in page()


@pytest.mark.parametrize("name", [*PARTS, *MEMORY])
def test_every_part_has_a_colour_in_light_and_in_dark(name):
    assert len(re.findall(rf"--{name}: #[0-9a-f]{{6}};", page())) == 2


def test_parts_that_only_other_plans_have_are_explained_too():
    first, second, *rest = builders.search_result().plans
    step = replace(second.estimate.parts, expert=1.0)
    other = replace(second, estimate=replace(second.estimate, parts=step))
    text = page(plans=(first, other, *rest))
    assert "</span>expert</td>" in text
    assert PARTS["expert"] in text
    assert PARTS["expert"] not in page()


def test_shares_of_the_best_plans_step_add_up():
    section = page().partition('id="time"')[2].partition("</section>")[0]
    shares = [float(share) for share in re.findall(r'class="number">([\d.]+) %', section)]
    assert sum(shares) == pytest.approx(100, abs=1.5)


def test_widths_of_the_slowest_bar_fill_the_drawing():
    section = page().partition('id="time"')[2].partition("</section>")[0]
    last = section.rpartition('class="track"')[2]
    widths = [float(width) for width in re.findall(r"width: ([\d.]+)%", last)]
    assert sum(widths) == pytest.approx(100, abs=0.01)


def test_text_from_outside_is_escaped():
    study, result = builders.study(), builders.search_result()
    named = replace(study.cluster, name="<script>alert(1)</script>")
    text = search_page(replace(study, cluster=named), result, builders.provenance())
    assert "<script" not in text


def test_page_of_a_search_without_prices_and_rejections_is_whole():
    plans = tuple(
        replace(
            entry,
            estimate=replace(
                entry.estimate, cost_per_step=None, cost_to_train=None, energy_per_step=None
            ),
        )
        for entry in builders.search_result().plans
    )
    front = tuple(
        replace(point, cost_per_step=None, energy_per_step=None)
        for point in builders.search_result().pareto
    )
    text = page(plans=plans, best=plans[0], pareto=front, rejected={})
    assert "USD" not in text
    assert "None" not in text
