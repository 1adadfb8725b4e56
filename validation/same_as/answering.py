"""Answers questions with the foretrain of a tree: `answering.py TREE QUESTIONS ANSWERS FOLDER`.

It runs in trees of any age, and so knows nothing of theirs but where their command line is.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

HOMES = ("foretrain.app.main", "foretrain.cli.main")


def program() -> Callable[[], None]:
    """The command line as a function."""
    for home in HOMES:
        with contextlib.suppress(ModuleNotFoundError):
            run: Callable[[], None] = import_module(home).run
            return run
    raise SystemExit("no command line is known in this tree")


def answered(run: Callable[[], None], arguments: Sequence[str]) -> Mapping[str, object]:
    """What a command prints and how it ends; a bug is told by its traceback."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["foretrain", *arguments]
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run()
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:
            code = traceback.format_exc()
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def main() -> None:
    """Answer all questions of a file into another."""
    tree, questions, answers, folder = map(Path, sys.argv[1:])
    os.chdir(folder)
    run = program()
    # An installation may stand before the path that was asked for: it would answer for both trees.
    found = Path(str(import_module("foretrain").__file__))
    if not found.is_relative_to(tree):
        raise SystemExit(f"asked for the foretrain of {tree}, got {found}")
    asked = json.loads(questions.read_text())
    answers.write_text(json.dumps([answered(run, arguments) for arguments in asked]))


main()
