"""The page about what a shared stream saves says what was recorded, and nothing else."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "background" / "ensemble-speed.md"
RECORDED = ROOT / "benchmarks" / "recorded"


def test_the_page_shows_what_is_recorded_on_either_machine(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from ensemble_parts.page import write_page

    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    write_page(page, RECORDED / "ensemble.toml", RECORDED / "ensemble-xeon.toml")
    assert page.read_text("utf-8") == PAGE.read_text("utf-8")
