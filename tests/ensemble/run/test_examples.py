"""The examples: two scripts that differ in five lines, and the study that needs none."""

import difflib
from pathlib import Path

from foretrain.study.ensemble_study import read_ensemble_study

EXAMPLES = Path(__file__).parents[3] / "examples" / "ensemble"


def code_of(name):
    """Lines of a script but its docstring and blank ones."""
    lines = (EXAMPLES / name).read_text().splitlines()[1:]
    return [line for line in lines if line.strip()]


def test_the_shared_script_is_the_private_one_with_five_lines_changed():
    changes = [
        line
        for line in difflib.unified_diff(code_of("private.py"), code_of("shared.py"), n=0)
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    assert sum(line[0] == "+" for line in changes) <= 5
    assert sum(line[0] == "-" for line in changes) <= 5


def test_the_study_has_a_member_for_each_rate_and_width():
    study = read_ensemble_study(EXAMPLES / "rates.toml")
    assert len(study.recipes) == 8
