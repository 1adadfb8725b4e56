"""`foretrain validate`."""

import json

from tests import builders


def test_tables_are_read_in_order_and_answered_together(foretrain, monkeypatch):
    read = []

    def reading(path, *, kind):
        read.append((path.name, kind))
        return (path.name,)

    monkeypatch.setattr("foretrain.study.measurements.read_measurements", reading)
    monkeypatch.setattr(
        "foretrain.evidence.validate.validate", lambda runs, **how: builders.validation()
    )
    ended = foretrain("validate", "a.csv", "b.csv", "--kind", "memory", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["schema"] == "foretrain/validate/1"
    assert read == [("a.csv", "memory"), ("b.csv", "memory")]


def test_report_names_the_sources(foretrain, monkeypatch):
    monkeypatch.setattr("foretrain.study.measurements.read_measurements", lambda path, kind: ())
    monkeypatch.setattr(
        "foretrain.evidence.validate.validate", lambda runs, **how: builders.validation()
    )
    ended = foretrain("validate", "a.csv")
    assert ended.code == 0
    assert "korthikanti" in ended.out


def test_the_page_is_written_beside_the_answer(foretrain, monkeypatch, tmp_path):
    monkeypatch.setattr("foretrain.study.measurements.read_measurements", lambda path, kind: ())
    monkeypatch.setattr(
        "foretrain.evidence.validate.validate", lambda runs, **how: builders.validation()
    )
    page = tmp_path / "answer.html"
    ended = foretrain("validate", "a.csv", "--html", str(page))
    assert ended.code == 0
    assert f"Wrote {page}." in ended.err
    assert "Predictions held against measurements" in page.read_text()


def test_a_page_in_the_place_of_the_table_is_refused(foretrain, tmp_path):
    table = tmp_path / "memory.csv"
    table.write_text("id\n")
    ended = foretrain("validate", str(table), "--html", str(table))
    assert ended.code == 1
    assert "is the table itself" in ended.err


def test_no_worker_at_all_is_wrong_usage(foretrain):
    assert foretrain("validate", "a.csv", "--workers", "0").code == 2
