"""The JSON of a command is the document of the public Python function, whatever a study asks.

`python -m validation.same_answers` asks the same of every study of the examples and the pages.
"""

import json

import pytest
from validation.same_answers import asked, by_function, of_table, same, tables

SMALL = """
[workload]
model = "{model}"
global_batch = 16
sequence = 1024

[cluster]
{cluster}

[plan]
tensor = 2
context = 1
pipeline = 1
micro_batch = 1
recompute = ["none", "full"]
sharding = "optimizer"
interleaving = 1
attention = "flash"
order = ["tensor", "context", "data", "pipeline"]
"""
ONE = SMALL.format(model="gpt-3-125m", cluster='name = "dgx-h100"\nnodes = 1')
FUTURE = '[[scenario]]\nname = "half"\nworkload = { global_batch = 8 }\n'
QUEUE = """
[cluster]
name = "dgx-h100"
nodes = 2

[jobs]
draw = 20

[[jobs.models]]
name = "language"
workload = { model = "gpt-3-125m", global_batch = 16, sequence = 1024, amount = "1 M tokens" }
plan = { micro_batch = 1, recompute = "none" }

[simulation]
policies = ["fifo"]
loads = [0.5]
"""
STUDIES = {
    "one size": ONE,
    "one plan": ONE.replace('["none", "full"]', '"full"'),
    "scenarios": f"{ONE}\n{FUTURE}",
    "largest micro-batch": f'{ONE}[search]\nmaximise = "micro_batch"\n'.replace(
        "micro_batch = 1\n", ""
    ),
    "longest sequence": f'{ONE}[search]\nmaximise = "sequence"\n',
    "largest model": f'{ONE}[search]\nmaximise = "parameters"\n',
    "jobs of models": QUEUE,
    "offers": SMALL.format(
        model="gpt-3-125m", cluster='name = ["dgx-a100", "dgx-h100"]\nnodes = [1, 2]'
    ),
    "two kinds": SMALL.format(
        model="gpt-3-125m",
        cluster='groups = [{ name = "dgx-a100", nodes = 1 }, { name = "dgx-h100", nodes = 1 }]',
    ),
}
OPTIONS = {
    "one size": ({"keep": 2, "why_not": ["recompute=full"]}, {"exhaustive": True}),
    "longest sequence": ({}, {"robust": True}),
}
"""Of searches; elsewhere none."""


@pytest.fixture
def command(foretrain):
    """What a command prints: its document, or its message."""

    def call(arguments):
        ended = foretrain(*arguments, "--json")
        return json.loads(ended.out) if ended.code == 0 else ended.err

    return call


@pytest.mark.parametrize("name", STUDIES)
def test_command_and_function_are_the_same_call(command, tmp_path, name):
    path = tmp_path / "study.toml"
    path.write_text(STUDIES[name])
    for question in asked(path, options=OPTIONS.get(name, ({},))):
        assert same(command(question.arguments), by_function(question.answer)), question.arguments


@pytest.mark.parametrize("name", ["llm_training"])
def test_tables_are_fitted_and_validated_alike(command, tmp_path, name):
    (path,) = (each for each in tables(tmp_path) if each.stem == name)
    for question in of_table(path):
        assert same(command(question.arguments), by_function(question.answer)), question.arguments


def test_answers_that_differ_in_a_number_are_not_the_same():
    assert same({"best": [1.0], "seconds": 1.0}, {"best": [1.0], "seconds": 2.0})
    assert not same({"best": [1.0]}, {"best": [1.1]})
    assert not same("error: study.toml: no plan", {"best": [1.0]})
    assert not same("error: study.toml: no plan", "keep must be at least 1")
