"""Mutated files: every door has mutants, they are the same again, and what fails is told."""

import ast
from pathlib import Path

import pytest
from tests.examples import slow
from validation.fuzz import trial
from validation.fuzz.doors import Door, Seed, doors
from validation.fuzz.mutations import BY_FORM, mutated
from validation.fuzz.trial import content_of, tried

from foretrain.errors import InputError

SOURCE = Path(__file__).parents[2] / "src" / "foretrain"
WAYS_IN = {"read_text", "read_bytes", "read_toml", "check_file", "from_json", "from_toml"}
THE_DOOR = {"study/files.py", "study/documents.py"}
OTHER_FORMATS = {"ensemble/run/written.py:load", "study/tracing/onnx_file.py:model_of_onnx"}
"""Formats of PyTorch and of ONNX, no texts; tests/ensemble/run/test_checkpoint.py and
tests/study/tracing/test_onnx.py mutate such files."""


def readers(path):
    """Functions of a module that let bytes of a user's file in."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            calls = {
                call.func.id
                for call in ast.walk(node)
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
            }
            if calls & WAYS_IN:
                yield node.name


def test_every_function_that_reads_a_file_stands_behind_a_door():
    found = {
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in THE_DOOR
        for name in readers(path)
    }
    assert found - OTHER_FORMATS == {name for door in doors() for name in door.reads}


def test_sound_files_are_read(tmp_path):
    for door in doors():
        for number, seed in enumerate(door.seeds):
            folder = tmp_path / f"{door.name}-{number}"
            folder.mkdir()
            for name, text in {**seed.beside, seed.name: seed.text}.items():
                (folder / name).write_text(text, "utf-8")
            door.use(folder / seed.name)


@pytest.mark.parametrize("door", doors(), ids=lambda door: door.name)
def test_mutant_is_the_same_again(door):
    made = [content_of(door, number, seed=5)[:2] for number in range(10)]
    assert made == [content_of(door, number, seed=5)[:2] for number in range(10)]
    assert made != [content_of(door, number, seed=6)[:2] for number in range(10)]


@pytest.mark.parametrize("form", BY_FORM)
def test_nearly_every_mutant_is_another_file(form):
    from random import Random

    text = b'{"a": 1, "b": [2, 3]}' if form == "json" else b"a = 1\nb = [2, 3]\n"
    made = [mutated(Random(number), text, form) for number in range(200)]
    assert sum(each != text for each in made) > 150
    assert len(set(made)) > 80


def failing(use):
    return Door(name="bad", reads=(), seeds=(Seed(name="a", text="a = 1", form="toml"),), use=use)


def endless(path):
    while True:
        pass


def crashing(path):
    raise KeyError("a")


def chatty(path):
    raise InputError("\n".join(["x" * 4000] * 1000))


def refusing(path):
    raise InputError("no")


@pytest.mark.parametrize(
    ("use", "kind", "told"),
    [
        (endless, "failed", "took more than"),
        (crashing, "failed", "KeyError: 'a'"),
        (chatty, "failed", "a message of 4,000,999 characters"),
        (refusing, "refused", "no"),
        (print, "read", ""),
    ],
)
def test_what_comes_of_a_mutant_is_told(use, kind, told, tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 0.05)
    found = tried(failing(use), 1, seed=1, folder=tmp_path / "there")
    assert found.kind == kind
    assert told in found.told


@slow
def test_few_mutants_of_every_door_are_read_or_refused(tmp_path, monkeypatch):
    """CI runs a thousand of another seed each time; these are the same ones every time."""
    monkeypatch.setattr("foretrain.study.files.PATIENCE", 0.05)
    found = [
        tried(door, number, seed=18, folder=tmp_path / "there")
        for door in doors()
        for number in range(2)
    ]
    assert not [each for each in found if each.kind == "failed"]


def test_study_of_many_jobs_is_simulated_with_some(tmp_path, monkeypatch):
    from foretrain.jobs import simulate as simulating

    door = next(each for each in doors() if each.name == "queue-study")
    asked, answer = [], simulating.simulate
    monkeypatch.setattr(simulating, "simulate", lambda study: asked.append(study) or answer(study))
    path = tmp_path / "study.toml"
    path.write_text(door.seeds[0].text.replace("draw = 8", "draw = 20000"), "utf-8")
    door.use(path)
    [study] = asked
    assert (study.jobs.jobs, study.seeds) == (2000, 2)
