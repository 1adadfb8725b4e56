"""`foretrain validate`."""

import json

from tests import builders


def test_tables_are_read_in_order_and_answered_together(foretrain, monkeypatch):
    read = []

    def reading(path, *, kind):
        read.append((path.name, kind))
        return (path.name,)

    monkeypatch.setattr("foretrain.files.measurements.read_measurements", reading)
    monkeypatch.setattr("foretrain.verbs.validate.validate", lambda runs: builders.validation())
    ended = foretrain("validate", "a.csv", "b.csv", "--kind", "memory", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["schema"] == "foretrain/validate/1"
    assert read == [("a.csv", "memory"), ("b.csv", "memory")]


def test_report_names_the_sources(foretrain, monkeypatch):
    monkeypatch.setattr("foretrain.files.measurements.read_measurements", lambda path, kind: ())
    monkeypatch.setattr("foretrain.verbs.validate.validate", lambda runs: builders.validation())
    ended = foretrain("validate", "a.csv")
    assert ended.code == 0
    assert "korthikanti" in ended.out
