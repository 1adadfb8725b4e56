"""Tables: what differs among plans has a column."""

from dataclasses import replace

from tests import builders

from foretrain.search.report.ranking import pareto, ranking


def names(content):
    return [column.name for column in content.columns]


def test_where_plans_run_is_told_where_it_differs():
    first, second, *rest = builders.search_result().plans
    assert not {"cluster", "nodes"} & set(names(ranking((first, second, *rest))))
    fewer = ranking((first, replace(second, nodes=32), *rest))
    assert names(fewer)[:3] == ["#", "nodes", "tp"]
    assert [row[1] for row in fewer.rows[:3]] == ["64", "32", "64"]
    other = ranking((first, replace(second, cluster="dgx-a100"), *rest))
    assert names(other)[:3] == ["#", "cluster", "tp"]


def test_front_tells_devices_where_they_differ():
    first, *rest = builders.search_result().pareto
    assert "devices" not in names(pareto((first, *rest)))
    fewer = pareto((replace(first, devices=2048), *rest))
    assert [row[1] for row in fewer.rows[:2]] == ["2,048", "512"]
