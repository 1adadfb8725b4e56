"""What is tried after a plain installation: all of what the code lists."""

import pytest
from validation.install.__main__ import PROJECT, environments, lowest
from validation.install.inside import Ended, commands, lacks, runs, with_fewer

NEEDS = 'error: this needs PyTorch: pip install "foretrain[torch]"'


def test_lowest_versions_are_those_that_the_project_allows():
    assert [*lowest(["numpy>=2.0", "typer>=0.15.4"])] == ["numpy==2.0", "typer==0.15.4"]
    assert environments()["newest"] == ()
    assert len(environments()["lowest"]) >= 6


@pytest.mark.parametrize("dependency", ["numpy", "numpy<3", "numpy~=2.0"])
def test_a_dependency_without_a_lowest_version_is_refused(dependency):
    with pytest.raises(SystemExit, match="says no lowest version"):
        list(lowest([dependency]))


def test_every_command_and_option_has_a_run(tmp_path):
    typed = runs(PROJECT, tmp_path)
    for name, command in commands().items():
        words = {str(word) for line in typed[name] for word in line} | {"--help"}
        options = {text for each in command.params for text in each.opts if text[:2] == "--"}
        assert options <= words, name


def test_examples_of_shared_clusters_are_tried_with_fewer_jobs():
    for name in ("queue.toml", "queue-with-ensemble.toml"):
        assert "draw = 60\n" in with_fewer((PROJECT / "examples" / name).read_text())


@pytest.mark.parametrize(
    ("ended", "fine"),
    [
        (Ended(1, "", f"{NEEDS}\n"), True),
        (Ended(0, "", NEEDS), False),
        (Ended(1, "", f"Traceback\n{NEEDS}"), False),
        (Ended(1, "", "ModuleNotFoundError: No module named 'torch'"), False),
    ],
)
def test_what_trains_must_say_in_one_line_what_to_install(ended, fine):
    assert bool(list(lacks(ended, "it"))) is not fine
