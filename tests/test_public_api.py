"""What `import foretrain` offers: the names of `__all__`, each loaded on first use."""

import subprocess
import sys

import pytest

import foretrain


@pytest.mark.parametrize("name", foretrain.__all__)
def test_every_public_name_loads(name):
    assert getattr(foretrain, name) is not None


def test_public_names_are_listed_once_and_shown_by_dir():
    assert len(set(foretrain.__all__)) == len(foretrain.__all__)
    assert set(foretrain.__all__) <= set(dir(foretrain))


def test_every_public_thing_says_what_it_is():
    things = [getattr(foretrain, name) for name in foretrain.__all__]
    missing = [thing for thing in things if callable(thing) and not thing.__doc__]
    assert not missing


def test_unknown_names_are_refused_with_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = foretrain.no_such_name


def test_star_import_brings_exactly_the_public_names():
    code = (
        "before = set(dir()); from foretrain import *; "
        "import foretrain; print(set(dir()) - before - {'before', 'foretrain'} == "
        "set(foretrain.__all__))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
