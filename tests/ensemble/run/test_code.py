"""Code and data that a study names: found, or told what is wrong with them."""

import sys
from pathlib import Path

import pytest
from tests.ensemble.run.studies import PLAIN, study
from tests.needs import needs

from foretrain.ensemble.run.home import check_code, function, load
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Code

needs("torch")


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder of a study's own code."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_of_study.py").write_text(
        "class Nets:\n    @staticmethod\n    def small():\n        return 'net'\nwidth = 3\n"
    )
    (tmp_path / "needs_more.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "fails.py").write_text("raise OSError('no data')\n")
    yield str(tmp_path)
    for name in ("own_of_study", "needs_more", "fails"):
        sys.modules.pop(name, None)


def test_a_function_is_found_beside_its_study_and_within_a_class(modules):
    before = list(sys.path)
    for _ in range(2):
        assert function(Code("own_of_study", "Nets.small"), modules)() == "net"
        assert sys.path == [str(Path(modules).resolve()), *before]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (Code("own_of_study", "Nets.smal"), "has no 'smal'. Did you mean 'small'"),
        (Code("own_of_study", "width"), "is a int; a function is wanted"),
        (Code("own_of_studi", "width"), "there is no module own_of_studi, neither in"),
        (Code("needs_more", "width"), "imports nothing_of_that_name, which is not installed"),
        (Code("fails", "width"), "importing it fails: OSError: no data"),
    ],
)
def test_code_that_is_not_there_is_told(modules, code, says):
    with pytest.raises(InputError, match=says):
        function(code, modules)


def test_all_code_of_a_study_that_is_not_there_is_told_at_once(tmp_path):
    wrong = PLAIN.replace("tiny:build", "tiny:biuld")
    other = wrong.replace('"plain"', '"other"').replace("biuld", "nothing")
    asked = study(tmp_path, wrong, other, name="wrong")
    with pytest.raises(InputError) as told:
        check_code(asked)
    assert len(str(told.value).splitlines()) == 2
    check_code(study(tmp_path, PLAIN, name="right"))


def test_data_that_a_study_cannot_have_are_told(tmp_path):
    with pytest.raises(InputError, match=r"raised FileNotFoundError: .*returns a data set"):
        load(study(tmp_path, PLAIN, name="absent", data="absent"))
    with pytest.raises(InputError, match="a loader, which brings its own"):
        load(study(tmp_path, PLAIN, name="many", data="loader", more="workers = 2"))
    assert load(study(tmp_path, PLAIN, name="some", more="workers = 2")).source.samples == 24
    assert load(study(tmp_path, PLAIN, name="fed", data="loader")).source.samples is None
