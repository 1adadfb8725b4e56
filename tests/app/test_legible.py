"""What a terminal is shown: every character, and none that it would obey."""

import ast
import json
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from foretrain.app.output import Legible, escaped, legible, tell, tell_all
from foretrain.show.report import Note, Strong
from foretrain.show.table import Column, Table
from foretrain.show.terminal import blocks

APP = Path(__file__).parents[2] / "src" / "foretrain" / "app"
OBEYED = "\x1b\x07\x08\r\x7f\x9b\u200b\u200e\u202e\u2066\u2028\ufeff\U000e0041\x00"


def drawn(renderable):
    paper = StringIO()
    Console(file=paper, width=200, highlight=False).print(Legible(renderable))
    return paper.getvalue()


@given(text=st.text() | st.text(OBEYED))
def test_no_character_is_left_that_a_terminal_obeys(text):
    shown = legible(text)
    assert all(each.isprintable() or each in "\n\t" or each.isspace() for each in shown)
    assert not set(shown) & set(OBEYED)


@pytest.mark.parametrize("text", ["plain", "naïve 数 ≥ 1 §", "two\nlines\tand a tab", "a\u00a0b"])
def test_what_can_be_seen_stays_as_it_is(text):
    assert legible(text) == text


def test_characters_are_shown_as_python_writes_them():
    assert legible("a\x1b[31mb\u202ec\x9b\udc80") == "a\\x1b[31mb\\u202ec\\x9b\\udc80"


@given(text=st.text(st.characters(exclude_categories=[])) | st.text(OBEYED))
def test_json_for_a_terminal_is_the_same_document(text):
    shown = escaped(json.dumps({"name": text}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == {"name": text}
    assert not set(shown) & set(OBEYED)
    assert shown.encode()


def test_reports_draw_no_such_character_and_no_markup():
    name = f"a[bold]{OBEYED}[/nope]"
    columns = (Column(name="row"), Column(name="reason"))
    table = Table(columns=columns, rows=((name, "words of a cell"),))
    shown = drawn(blocks([Strong(name), table, Note(name), name]))
    assert not set(shown) & set(OBEYED)
    assert shown.count("a[bold]\\x1b") == 4


def test_cell_of_a_hundred_thousand_letters_is_shown_without_its_middle():
    columns = (Column(name="row"), Column(name="reason"))
    table = Table(columns=columns, rows=(("r" * 100_000, "a b" * 50_000),))
    assert len(drawn(blocks([table]))) < 5000


def test_messages_are_cleaned_and_long_lists_cut(capsys):
    tell("name \x1b]0;title\x07")
    tell_all("row", [f"line {number}" for number in range(12)])
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "name \\x1b]0;title\\x07"
    assert told[1] == "warning: 12 rows left out:"
    assert told[-2:] == ["- line 9", "- and 2 more."]


def test_commands_write_to_the_terminal_in_one_place():
    """`--version` prints what is installed, and output.py what a cleaned report has drawn."""
    calls = {}
    for path in sorted(APP.rglob("*.py")):
        names = {
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call)
        }
        found = names & {
            "typer.echo",
            "print",
            "click.echo",
            "sys.stdout.write",
            "sys.stderr.write",
        }
        calls |= {path.name: found} if found else {}
    assert calls == {
        "main.py": {"typer.echo"},
        "output.py": {"sys.stdout.write", "typer.echo"},
    }


def test_error_of_a_file_is_cleaned(foretrain, tmp_path):
    path = tmp_path / "a\x1b[31m\u202e.toml"
    path.write_text('[workload]\nmodel = "\\u001b]0;x\\u0007"\n')
    ended = foretrain("estimate", path)
    assert ended.code == 1
    assert not set(ended.err) & set(OBEYED)
    assert "a\\x1b[31m\\u202e.toml" in ended.err


def test_page_of_a_name_that_no_file_can_have_is_one_message(foretrain, study):
    ended = foretrain("search", study, "--html", "n" * 300 + ".html")
    assert ended.code == 1
    assert "cannot be written: File name too long" in ended.err
