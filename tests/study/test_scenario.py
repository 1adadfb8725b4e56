"""Scenarios: every one is the study with some of its keys written anew."""

import tomllib

import pytest

from foretrain.errors import InputError
from foretrain.plan.study import Space
from foretrain.study.study import study_from

BASE = """
[workload]
model = "llama-3-8b"
gbs = 64
sequence = 4096
amount = "1 T tokens"

[cluster]
name = "dgx-h100"
nodes = 8
price = "2 USD/h"

[plan]
tp = [4, 8]

[search]
limit = { deadline = "30 d" }
"""


def read(text, base=BASE):
    return study_from(tomllib.loads(base + text), "study.toml")


def scenario(keys):
    """The one scenario of a study."""
    [found] = read(f'[[scenario]]\nname = "other"\n{keys}').scenarios
    assert found.name == "other"
    return found.study


def refusal(text):
    with pytest.raises(InputError) as error:
        read(text)
    return str(error.value)


def test_study_without_scenarios_has_none():
    assert read("").scenarios == ()


def test_scenarios_stand_in_the_order_of_the_file():
    names = ["long", "a node is out", "half the price"]
    keys = ["workload = { sequence = 8192 }", "cluster = { nodes = 7 }", 'cluster.price="1 USD/h"']
    text = "".join(
        f'[[scenario]]\nname = "{name}"\n{key}\n' for name, key in zip(names, keys, strict=True)
    )
    assert [each.name for each in read(text).scenarios] == names


def test_scenario_is_the_study_with_its_own_keys():
    alone, changed = read(""), scenario("workload = { sequence = 8192 }\ncluster.nodes = 7")
    assert changed.workload.model.tokens == 8192
    assert changed.cluster.devices == 56
    assert changed.workload.global_batch == alone.workload.global_batch == 64
    assert changed.cluster.price == alone.cluster.price
    assert (changed.space, changed.limit) == (alone.space, alone.limit)


def test_scenario_reads_like_the_study_that_is_written_out():
    written = BASE.replace("nodes = 8", "nodes = 7").replace("30 d", "20 d")
    changed = scenario('cluster.nodes = 7\nsearch.limit = { deadline = "20 d" }')
    assert changed == read("", base=written)


def test_tables_within_sections_are_merged_too():
    changed = scenario('search.limit.cost = "1 MUSD"')
    assert changed.limit.cost == 1e6
    assert changed.limit.deadline == read("").limit.deadline


@pytest.mark.parametrize("key", ["gbs", "global_batch"])
def test_short_and_full_name_are_one_key(key):
    assert scenario(f"workload = {{ {key} = 32 }}").workload.global_batch == 32


def test_section_that_the_study_lacks_may_be_added():
    assert scenario("job = { checkpoint = '1 h' }").job is not None
    assert read("").job is None


def test_list_replaces_a_list():
    assert scenario("plan.tp = [2]").space == Space(tensor=(2,))


def test_mistake_of_a_scenario_is_told_with_its_key():
    text = '[[scenario]]\nname="a"\ncluster.nodes=7\n[[scenario]]\nname="b"\nworkload.optimizer="x"'
    told = refusal(text)
    assert told.startswith("study.toml: scenario[1].workload.optimizer: ")


def test_all_mistakes_are_told_at_once():
    told = refusal('[[scenario]]\nname="a"\ncluster.nodes=0\n[[scenario]]\nworkload.seqence=2\n')
    assert "has 3 problems" in told
    for key in ("scenario[0].cluster.nodes: ", "scenario[1].name: ", "scenario[1].workload.seqenc"):
        assert f"- {key}" in told
    assert "Did you mean 'sequence'?" in told


def test_mistake_of_the_study_is_told_once():
    text = '[[scenario]]\nname="a"\ncluster.nodes=7'
    with pytest.raises(InputError) as error:
        read(text, base=BASE.replace("tp = [4, 8]", "tp = 'four'"))
    assert str(error.value).count("plan.tensor") == 1
    assert "scenario" not in str(error.value)


def test_what_is_legal_alone_but_not_together_is_told():
    told = refusal('[[scenario]]\nname="a"\nplan = { data = 3 }')
    assert "scenario[0].plan.data: " in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('scenario = "x"', "scenario: is not a list of tables"),
        ("[scenario]\nname = 'a'", "scenario: is not a list of tables"),
        ("[[scenario]]\ncluster.nodes = 7", "scenario[0].name: is missing"),
        ("[[scenario]]\nname = 3\ncluster.nodes = 7", "scenario[0].name: 3 is not a text"),
        ("[[scenario]]\nname = 'as given'\ncluster.nodes = 7", "is another scenario's name"),
        ("[[scenario]]\nname = 'a'", "scenario[0]: changes nothing"),
        ("[[scenario]]\nname = 'a'\nclutser.nodes = 7", "Did you mean 'cluster'?"),
        ("[[scenario]]\nname = 'a'\nplan = 3", "scenario[0].plan: 3 is not a table"),
        (
            "[[scenario]]\nname = 'a'\nworkload = { gbs = 8, global_batch = 8 }",
            "scenario[0].workload.global_batch: global_batch was written before",
        ),
    ],
)
def test_tables_that_say_nothing_are_refused(text, told):
    base = BASE if text.startswith("[") else ""
    document = tomllib.loads(text if not base else base + text)
    with pytest.raises(InputError) as error:
        study_from(tomllib.loads(BASE) | document, "study.toml")
    assert told in str(error.value)
