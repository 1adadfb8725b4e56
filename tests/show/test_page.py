"""The page of a search: one file that is complete in itself."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree.ElementTree import fromstring

import pytest
from tests import builders

from foretrain.cluster.offer import Offer
from foretrain.plan.study import Limit, Objective
from foretrain.search.report.search import search_report
from foretrain.show.charts import SHADES
from foretrain.show.report import ReportSection
from foretrain.show.table import Column, Table
from foretrain.show.terminal import page as page_of
from foretrain.show.words import MEMORY, PARTS

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
    return page_of(search_report(builders.study(), result), builders.provenance())


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
    assert not {"link", "img", "iframe", "object"} & set(outline(text).tags)
    assert text.count("<script") == text.count("<script>") == 1
    assert not re.search(r"url\((?!#)|@import|https?://|fetch|XMLHttp|import\(", text)


def test_page_is_light():
    assert len(page().encode()) < 100_000


def test_elements_close_in_order_and_names_are_unique():
    found = outline(page())
    assert found.open == []
    assert len(found.names) == len(set(found.names))


def test_page_has_every_section():
    text = page()
    for name in ("best", "time", "memory", "ranking", "front", "map", "rejected", "inputs"):
        assert f'<h2 id="{name}">' in text


def test_sections_that_have_nothing_are_left_out():
    assert 'id="map"' not in page(cells=())


def test_sections_about_a_larger_question_stand_before_the_answer():
    content = Table(columns=(Column(name="scenario"),), rows=(("rack out",),))
    more = [ReportSection(name="scenarios", title="What may come instead", body=(content,))]
    result = builders.search_result()
    report = search_report(builders.study(), result, before=more)
    text = page_of(report, builders.provenance())
    assert text.index('id="scenarios"') < text.index('id="best"') < text.index('id="inputs"')
    assert "rack out" in text


def test_page_of_a_search_cut_short_says_how_far_the_best_may_be():
    text = page(proven_optimal=False, unseen=12_054, gap=0.032)
    assert "the best plan may be at most 3.2 % better." in text


def test_every_drawing_is_told_in_words_for_who_does_not_see_it():
    drawings = re.findall(r"<svg .*?</svg>", page(), flags=re.DOTALL)
    assert len(drawings) == 2
    for drawing in drawings:
        links = re.findall(r'<a href="#[\w-]+" aria-label="([^"]+)"', drawing)
        assert [text for text in links if f"<title>{text}</title>" in drawing] == links
        assert links


def test_drawings_are_well_formed_xml():
    for drawing in re.findall(r"<svg .*?</svg>", page(), flags=re.DOTALL):
        fromstring(drawing)


def test_figures_are_of_the_cluster_that_the_best_plan_rents():
    study, result = builders.study(), builders.search_result()
    fewer = replace(result.best, nodes=32)
    offered = replace(study, offers=(Offer(cluster=study.cluster, nodes=(32, 64)),))
    answer = replace(result, best=fewer, plans=(fewer, *result.plans[1:]))
    text = page_of(search_report(offered, answer), builders.provenance())
    assert "<h1>llama-3-70b on 256 h100-sxm-80gb</h1>" in text
    assert ">nodes</th>" in text


def test_amounts_sort_by_what_they_are():
    section = page().partition('id="front"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr id=.*?</tr>", section, flags=re.DOTALL)
    keys = [float(re.findall(r'data-key="([^"]+)"', row)[0]) for row in rows]
    assert keys == [point.step_time for point in builders.search_result().pareto]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("shade", range(SHADES))
def test_texts_on_shades_can_be_read(scheme, shade):
    ground = re.findall(rf"--shade-{shade}: #([0-9a-f]{{6}})", page())[scheme]
    ink = re.findall(rf"--on-shade-{shade}: #([0-9a-f]{{6}})", page())[scheme]
    dark, bright = sorted((luminance(ground), luminance(ink)))
    assert (bright + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_shades_go_one_way(scheme):
    colours = [re.findall(rf"--shade-{n}: #([0-9a-f]{{6}})", page())[scheme] for n in range(SHADES)]
    steps = [luminance(colour) for colour in colours]
    assert steps in (sorted(steps), sorted(steps, reverse=True))


def luminance(colour):
    """Relative luminance of a colour as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def test_page_says_versions_inputs_and_sources():
    text = page()
    for words in ("0.1.0", "4f2a" * 16, "default-1", "nccl-tests", "korthikanti2022"):
        assert words in text


def test_page_shows_amount_objective_and_limits_back():
    limit = Limit(devices=512, cost=30e6, deadline=300 * 86_400.0)
    asked = builders.study(limit=limit, objective=Objective.COST)
    text = page_of(search_report(asked, builders.search_result()), builders.provenance())
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
    plans = tuple(replace(entry, cluster=named.name) for entry in result.plans)
    answer = replace(result, plans=plans, best=plans[0], rejected={named.name: 3})
    text = page_of(search_report(replace(study, cluster=named), answer), builders.provenance())
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


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
    text = page(plans=plans, best=plans[0], ranking=plans, pareto=front, rejected={})
    assert "USD" not in text
    assert "None" not in text
