"""What `import foretrain` offers: the names of `__all__`, each loaded on first use."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import foretrain

ONE_PLAN = Path(__file__).parents[1] / "examples/llama-3-70b-one-plan.toml"


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_public_name_is_a_thing_that_says_what_it_is():
    for name in foretrain.__all__:
        thing = getattr(foretrain, name)
        assert not isinstance(thing, ModuleType), name
        assert thing.__doc__, name


def test_public_names_are_listed_once_and_shown_by_dir():
    assert len(set(foretrain.__all__)) == len(foretrain.__all__)
    assert set(foretrain.__all__) <= set(dir(foretrain))


def test_unknown_names_are_refused_with_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = foretrain.no_such_name  # type: ignore[attr-defined]


def test_star_import_brings_exactly_the_public_names():
    code = """
before = set(dir()) | {"before"}
from foretrain import *
added = set(dir()) - before
import foretrain
print(added == set(foretrain.__all__))
"""
    assert printed(code) == "True"


@pytest.mark.parametrize("first", ["", "import foretrain.search.exhaustive", "foretrain.search"])
def test_search_is_the_verb_and_not_the_package_whatever_was_loaded_before(first):
    code = f"""
import foretrain
{first}
print(foretrain.search.__module__, foretrain.search.__name__)
"""
    assert printed(code) == "foretrain.search.search search"


def test_a_script_of_the_public_names_has_types():
    """What mypy checks here, it checks in the scripts of users."""
    study: foretrain.Study = foretrain.read_study(ONE_PLAN)
    seconds: float = foretrain.estimate(study).step_time
    found = foretrain.search(study, keep=1)
    assert isinstance(found, foretrain.SearchResult)
    assert found.best.estimate.step_time <= seconds


def test_type_checkers_know_every_public_name():
    imported = re.findall(
        r"\b(\w+) as \1\b", Path(foretrain.__file__).with_suffix(".pyi").read_text()
    )
    assert sorted(imported) == foretrain.__all__
