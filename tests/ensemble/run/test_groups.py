"""Members that share a process: results as in processes of their own, and what stays apart."""

from dataclasses import replace

import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, study
from tests.needs import needs

from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run.inputs import SharedLoader, TakenInTurns, sharing
from foretrain.ensemble.run.written import RunFolder
from foretrain.ensemble.train import ensemble_run
from foretrain.measured.ensemble_study import Lag

torch = needs("torch")

KEPT = '\n[checkpoints]\nfolder = "kept"\n'
DRAWS = """
[[members]]
name = "draws{seed}"
model = "tests.ensemble.run.tiny:Draws"
options = {{ seed = {seed} }}
"""
LONGER = PLAIN.replace("plain", "longer") + "epochs = 3\n"
EVERYBODY = (PLAIN, WIDE, LONGER, DRAWS.format(seed=1), DRAWS.format(seed=2))
BROKEN = '\n[[members]]\nname = "broken"\nmodel = "tests.ensemble.run.tiny:broken_model"\n'
DIES = '\n[[members]]\nname = "dies"\nmodel = "tests.ensemble.run.tiny:Dies"\n'


def grouped(asked, process="one"):
    """The same study, whose members all train in one process."""
    recipes = tuple(replace(each, process=process) for each in asked.recipes)
    return replace(asked, recipes=recipes)


def results(folder, answer):
    """Weights and losses of all members."""
    found = {}
    for each in answer.members:
        assert each.state is MemberState.DONE, each.reason
        path = folder / "kept" / f"{each.name}.pt"
        kept = torch.load(path, weights_only=True)["trainee"]
        found[each.name] = (each.loss, {k: v.tolist() for k, v in kept["model"].items()})
    return found


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        ("points", {"input": "shared"}),
        ("points", {"input": "private"}),
        ("points", {"input": "private", "more": "workers = 1"}),
        ("loader", {"input": "shared"}),
        ("collated", {"input": "shared"}),
    ],
)
def test_results_are_those_of_processes_of_their_own_value_by_value(tmp_path, data, asked):
    members = [each for each in EVERYBODY if data != "collated" or each != WIDE]
    got = []
    for name in ("apart", "together"):
        folder = tmp_path / name
        folder.mkdir()
        made = study(folder, *members, KEPT, name=f"group-{data}", data=data, **asked)
        got.append(results(folder, ensemble_run(grouped(made) if name == "together" else made)))
    apart, together = got
    assert apart == together
    assert apart["draws1"] != apart["draws2"]


def test_who_fails_in_a_process_leaves_the_others_in_it(tmp_path):
    made = study(tmp_path, PLAIN, BROKEN, DRAWS.format(seed=3), name="group-failing")
    members = {each.name: each for each in ensemble_run(grouped(made)).members}
    assert members["broken"].state is MemberState.FAILED
    assert "no such layer" in members["broken"].reason
    done = [each for each in members.values() if each.name != "broken"]
    assert {(each.state, each.samples) for each in done} == {(MemberState.DONE, 48)}
    assert all(each.cpu > 0 for each in done)


def test_a_process_that_is_killed_ends_its_members_and_nobody_else(tmp_path):
    made = study(tmp_path, PLAIN, DIES, LONGER, name="group-killed")
    doomed = {"plain": "one", "dies": "one", "longer": "another"}
    recipes = tuple(replace(each, process=doomed[each.name]) for each in made.recipes)
    members = {each.name: each for each in ensemble_run(replace(made, recipes=recipes)).members}
    assert members["plain"].state is members["dies"].state is MemberState.FAILED
    assert "SIGKILL" in members["plain"].reason
    assert "plain, dies shared it" in members["plain"].reason
    assert (members["longer"].state, members["longer"].samples) == (MemberState.DONE, 72)


def test_a_group_that_was_stopped_goes_on_to_the_same_weights(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    logs = "[logs]\nevery = '1 ms'"
    members = (PLAIN, WIDE, LONGER)
    ensemble_run(grouped(study(whole, *members, KEPT, name="group-kept", epochs=40)))
    stopped = grouped(study(parts, *members, KEPT, logs, name="group-kept", epochs=40))
    seen = []
    first = ensemble_run(
        stopped, watch=seen.append, stop=lambda: any(m.samples for s in seen for m in s.members)
    )
    assert not first.complete
    answer = ensemble_run(stopped, resume=True)
    assert answer.complete
    for each in answer.members:
        kept = [
            torch.load(folder / "kept" / f"{each.name}.pt", weights_only=True)["trainee"]["model"]
            for folder in (whole, parts)
        ]
        assert all(torch.equal(kept[0][key], value) for key, value in kept[1].items())


def test_readers_are_shared_by_members_of_a_process_that_take_the_same_from_the_same_place(
    tmp_path,
):
    made = study(tmp_path, *EVERYBODY, name="group-sharing")
    folder = RunFolder(tmp_path)
    names = [each.name for each in made.recipes]
    assert sharing(made.recipes, folder) == {name: name for name in names}
    shared = dict.fromkeys(names, "plain") | {"wide": "wide"}
    assert sharing(grouped(made).recipes, folder) == shared
    other = [
        replace(each, lag=Lag.DROP) if each.name == "draws1" else each for each in made.recipes
    ]
    assert (
        sharing(grouped(replace(made, recipes=tuple(other))).recipes, folder)["draws1"] == "draws1"
    )
    folder.save("longer", {"loader": {"position": 5}, "tally": {"epoch": 0}})
    assert sharing(grouped(made).recipes, folder)["longer"] == "longer"


class Twice:
    """A loader of two batches an epoch."""

    epoch = position = 0
    state_dict = stats = dict

    def __iter__(self):
        yield torch.zeros(1)
        yield torch.ones(1)


def test_members_that_take_turns_get_the_same_batches_each_its_own():
    shared = SharedLoader(Twice())
    first, second = TakenInTurns(shared), TakenInTurns(shared)
    for _ in range(2):
        loops = iter(first), iter(second)
        for number in range(2):
            one, other = map(next, loops)
            assert one.tolist() == other.tolist() == [number]
            one.add_(5)
            assert other.tolist() == [number]
        assert [next(loop, None) for loop in loops] == [None, None]


def test_a_member_that_takes_two_turns_at_once_is_our_error():
    shared = SharedLoader(Twice())
    first, second = TakenInTurns(shared), TakenInTurns(shared)
    loop = iter(first)
    next(loop)
    next(loop)
    with pytest.raises(AssertionError, match="take turns"):
        next(iter(second))
