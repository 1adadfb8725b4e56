"""The page in a real browser: no errors, and what its script does."""

import re
import subprocess

import pytest
from tests import builders
from tests.needs import needs_command

from foretrain.search.report.search import search_report
from foretrain.show.terminal import page

BROWSER = needs_command("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom")


@pytest.fixture
def shown(tmp_path):
    """Shows the page and does something with it; answers with what it then is."""

    def show(then=""):
        text = page(
            search_report(builders.study(), builders.search_result()), builders.provenance()
        )
        file = tmp_path / "page.html"
        file.write_text(text.replace("</body>", f"<script>{then}</script></body>"))
        command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path}", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert "CONSOLE" not in done.stderr
        return done.stdout

    return show


def test_page_shows_without_errors(shown):
    assert "Point at a plan, or choose it." in shown()


def test_pointing_at_a_cell_tells_its_plan(shown):
    told = shown("document.querySelector('.map .best').focus()")
    assert re.search(r'class="told"[^>]*>tensor 8, pipeline 4: 10.9 s, the least of all', told)


def test_choosing_a_cell_marks_its_row(shown):
    cell = "document.querySelector('.map .best')"
    chosen = shown(f"{cell}.dispatchEvent(new MouseEvent('click', {{cancelable: true}}))")
    (row,) = re.findall(r'<tr id="cell-\d+" class="chosen">\s*(.*?)</tr>', chosen, re.DOTALL)
    assert re.findall(r">([^<]*)</td>", row)[:2] == ["8", "4"]


def test_choosing_a_heading_sorts_up_and_then_down(shown):
    button = "document.querySelectorAll('section[aria-labelledby=front] th button')"
    memory = f"[...{button}].find((it) => it.textContent === 'memory').click();"
    assert re.findall(r'<tr id="pareto-(\d)"', shown(memory)) == list("654321")
    assert re.findall(r'<tr id="pareto-(\d)"', shown(memory * 2)) == list("123456")


def test_what_has_no_value_sorts_last(shown):
    heading = "[...document.querySelectorAll('section[aria-labelledby=map] th button')]"
    sorted_ = shown(f"{heading}.find((it) => it.textContent === 'best').click();")
    rows = re.findall(r'<tr id="cell-\d+"[^>]*>(.*?)</tr>', sorted_, re.DOTALL)
    assert "10.9 s" in rows[0]
    assert 'data-key=""' in rows[-1]
