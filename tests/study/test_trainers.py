"""Every entry of a trainer: lines have sources, releases complete one another, words are known."""

import tomllib
from importlib import resources

import pytest

from foretrain.errors import InputError
from foretrain.study.catalogue import figures, names, summary
from foretrain.study.study import read_study
from foretrain.study.trainers import trainer, trainer_from, trainers
from foretrain.trainers.trainer import ANY
from foretrain.trainers.vocabulary import OPTIONS

FILES = [
    file
    for file in (resources.files("foretrain") / "trainers" / "catalogue").iterdir()
    if file.name.endswith(".toml")
]
ENTRIES = trainers()


def test_every_line_has_a_source():
    for known in ENTRIES:
        lines = [
            line
            for part in (known.can, known.options, known.habits)
            for it in part
            for line in it.lines
        ]
        assert lines, known.name
        assert all(line.source for line in lines), known.name
        assert all(each.source for each in known.excludes), known.name
        assert summary("trainers", known.name), known.name


def test_what_an_option_is_unset_and_may_have_been_is_among_its_values():
    for known in ENTRIES:
        for option in known.options:
            said = {name for line in option.lines for name in line.weights}
            assert said <= set(option.values or OPTIONS[option.name].values), known.name


def test_every_option_says_something_of_a_run_of_which_nothing_else_is_known():
    for known in ENTRIES:
        assert all(
            option.lines[-1].where == type(option.lines[-1].where)() for option in known.options
        ), known.name


def test_every_entry_answers_each_option_that_any_trainer_has():
    for known in ENTRIES:
        assert {each.name for each in trainer("any").options} <= {
            each.name for each in known.options
        }, known.name
        assert (known.recognised == ()) is (known.name == ANY.name), known.name


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_source_of_a_file_is_used_and_dates_of_releases_have_one(file):
    text = file.read_text("utf-8")
    document = tomllib.loads(text)
    sources = document.pop("sources")
    dated = any("date" in each for each in document.values() if isinstance(each, dict))
    assert ("dates" in sources) is dated
    for key in {*sources} - {"dates"}:
        assert f'source = "{key}"' in text, key


def test_a_release_inherits_key_by_key():
    older, newer = trainer("megatron-lm-2"), trainer("megatron-lm-2.5")
    assert newer.option("attention") == older.option("attention")
    assert newer.able("axes") == (*older.able("axes"), "interleaving")


def test_the_name_of_a_family_is_its_newest_release():
    assert trainer("megatron-bridge") == trainer("megatron-bridge-0.5")
    for name in ("megatron-lm", "nemo", "deepspeed", "torchtitan", "pytorch", "fsdp", "litgpt"):
        found = trainer(name)
        dates = [each.date for each in trainers() if each.recognised == found.recognised]
        assert found.date == max(dates)


def test_an_unknown_trainer_is_told_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean 'megatron-bridge'"):
        trainer("megatron-brige")


def test_the_catalogue_lists_trainers_with_their_lines():
    assert set(names()["trainers"]) == {each.name for each in trainers()}
    found = {each.key: each for each in figures("trainers", "torchtitan-0.1")}
    assert found["options.recompute"].value == "selective"
    assert "torchtitan" in found["options.recompute"].source


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"optoins": {}}, "unknown key 'optoins'"),
        ({"options": {"attention": "flash"}}, "options.attention: write"),
        ({"options": {"attention": {"value": "flash", "source": "s", "wher": {}}}}, "'wher'"),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused_where_it_is_wrong(entry, said):
    with pytest.raises(InputError, match=said):
        trainer_from("ours", entry)


def test_a_folder_of_ones_own_may_hold_trainers(tmp_path):
    (tmp_path / "site" / "trainers").mkdir(parents=True)
    (tmp_path / "site" / "trainers" / "ours.toml").write_text(
        '[our-fork]\nlike = "megatron-core-0.15"\nsummary = "our fork"\n'
        'options.attention = { value = "flash-3", values = ["flash-3"], source = "our wiki" }\n'
        'can.schedules = { value = ["1f1b", "zero_bubble"] }\n'
    )
    text = (
        'catalogue = "site"\n[workload]\nmodel = "gpt-2"\nglobal_batch = 16\nsequence = 1024\n'
        '[cluster]\nname = "dgx-h100"\nnodes = 1\n[trainer]\nname = "our-fork"\n'
        '[plan]\nmicro_batch = 1\npipeline = 2\nschedule = "{}"\n'
    )
    (tmp_path / "study.toml").write_text(text.format("zero_bubble"))
    study = read_study(tmp_path / "study.toml")
    assert study.trainer.name == "our-fork"
    assert study.trainer.trainer.able("axes") == trainer("megatron-core-0.15").able("axes")
    (tmp_path / "study.toml").write_text(text.format("gpipe"))
    with pytest.raises(InputError, match="our-fork has no schedule 'gpipe'"):
        read_study(tmp_path / "study.toml")
