"""Plug-ins: found where Python has them, named in what they raise, registered once."""

import sys

import pytest

from foretrain.errors import ForetrainError, InputError
from foretrain.plugins import COLLECTIVE, POLICY, blamed, called, imported, own, register


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with modules, forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("plugged_in", "plugged_fails", "plugged_needs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "plugged_in.py").write_text(
        "class Inside:\n    thing = 3\n\ndef f():\n    return 1\n"
    )
    (tmp_path / "plugged_fails.py").write_text("1 / 0\n")
    (tmp_path / "plugged_needs.py").write_text("import no_such_library\n")
    return str(tmp_path)


def test_a_name_leads_into_a_module_beside_the_study(folder):
    assert imported("plugged_in:f", folder=folder)() == 1
    assert imported("plugged_in:Inside.thing", folder=folder) == 3
    assert own(POLICY, "plugged_in:f")() == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("plugged_in:g", "the module plugged_in has no 'g'"),
        ("plugged_in:insde", "Did you mean 'Inside'?"),
        ("plugged_on:f", "there is no module plugged_on, neither in "),
        ("plugged_fails:f", "importing it fails: ZeroDivisionError"),
        ("plugged_needs:f", "imports no_such_library, which is not installed"),
        ("plugged_in", "is not written as package.module:name"),
        (":f", "is not written as package.module:name"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(folder, name, says):
    with pytest.raises(InputError, match=name) as told:
        imported(name, folder=folder)
    assert says in str(told.value)


def test_where_a_module_was_looked_for_is_told():
    with pytest.raises(InputError, match="neither beside the study nor installed"):
        imported("no_such_module_anywhere:f")


def test_a_name_is_given_once_and_is_no_place_in_python():
    thing = object()
    register(COLLECTIVE, {"once only": thing})
    register(COLLECTIVE, {"once only": thing})
    assert own(COLLECTIVE, "once only") is thing
    assert own(POLICY, "once only") is None
    with pytest.raises(InputError, match="there is a collective 'once only' already"):
        register(COLLECTIVE, {"once only": object()})
    for name in ("", "a:b"):
        with pytest.raises(InputError, match="is no name for a policy"):
            register(POLICY, {name: thing})


def test_what_a_plug_in_raises_names_it_and_the_line():
    with (
        pytest.raises(
            ForetrainError, match=r"policy 'x' raised KeyError: 3 \(test_plugins.py, line"
        ),
        blamed(POLICY, "x"),
    ):
        _ = {}[3]


def test_an_error_of_ours_stays_as_it_is():
    with pytest.raises(InputError, match=r"^mine$"), blamed(POLICY, "x"):
        raise InputError("mine")


def test_a_number_cannot_be_called():
    with pytest.raises(InputError, match="x: is a int; a function is wanted"):
        called(3, name="x")
