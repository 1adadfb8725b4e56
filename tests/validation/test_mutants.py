"""Mistakes made on purpose: each is one change that Python still reads, none in a message."""

import ast
from collections import Counter

from validation.mutants.areas import AREAS, files_of
from validation.mutants.mutations import mutants
from validation.mutants.survivors import survivors

SOURCE = '''
def price(count: int, *, free: int = 2) -> float:
    """Seconds of 3 steps."""
    if not count > free:
        raise ValueError(f"{count + 1} is more than {free}.")
    assert count < 9
    log(zip(count, free, strict=True))
    return max(0.0, 1.5 * (count - free))
'''


def made(tmp_path):
    file = tmp_path / "price.py"
    file.write_text(SOURCE)
    return list(mutants(file))


def test_every_mistake_is_one_change_that_python_reads(tmp_path):
    for each in made(tmp_path):
        text = each.applied()
        assert text != SOURCE
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(SOURCE)), each.name
        assert text.count("\n") == SOURCE.count("\n")


def test_operators_numbers_conditions_and_statements_are_changed_but_no_texts_and_alarms(tmp_path):
    assert {f"{each.text} -> {each.instead}" for each in made(tmp_path)} == {
        "not count > free -> (count > free)",
        "count > free -> (count >= free)",
        'raise ValueError(f"{count + 1} is more than {free}.") -> pass',
        "log(zip(count, free, strict=True)) -> pass",
        "max(0.0, 1.5 * (count - free)) -> (min(0.0, 1.5 * (count - free)))",
        "0.0 -> (1.0)",
        "1.5 * (count - free) -> (1.5 / (count - free))",
        "1.5 -> (3.0)",
        "count - free -> (count + free)",
    }
    assert {each.function for each in made(tmp_path)} == {"price"}


def test_every_area_has_files_and_none_lies_in_two():
    files = [file for area in AREAS for file in files_of(area)]
    assert len(files) == len(set(files))


def test_every_survivor_has_a_reason():
    assert all(each.reason for each in survivors().values())


def test_every_survivor_names_one_mistake():
    names = Counter(
        each.name for area in AREAS for file in files_of(area) for each in mutants(file)
    )
    assert {name: names[name] for name in survivors() if names[name] != 1} == {}
