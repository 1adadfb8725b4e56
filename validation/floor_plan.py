"""The size of the house: lines of code, files, and private functions that are used once.

    python -m validation.floor_plan               # of this tree, wing by wing
    python -m validation.floor_plan 6dfc0fc       # and what another commit had

A line of code is neither blank nor comment nor docstring. The exit status is 1 where a package has
more than 400 files, or a class name stands for two classes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MOST_FILES = 400
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One file.

    Attributes:
        lines: of code.
        private: names of its private functions.
        once: how many of them are used once at most in the file.
        classes: names of its classes.
    """

    lines: int
    private: tuple[str, ...]
    once: int
    classes: tuple[str, ...]


def measured(file: Path) -> Measured:
    """What one file has."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    texts = {
        line
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    with file.open(encoding="utf-8") as opened:
        tokens = list(tokenize.generate_tokens(opened.readline))
    code = {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
    private = tuple(
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("_") and not node.name.startswith("__")
    )
    return Measured(
        lines=len(code - texts),
        private=private,
        once=sum(uses[name] <= 1 for name in private),
        classes=tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
    )


def told(tree: Path) -> bool:
    """Print what a tree has; whether it keeps what must be kept."""
    classes: Counter[str] = Counter()
    kept = True
    for package in sorted(each for each in (tree / "src").iterdir() if each.is_dir()):
        found = {file: measured(file) for file in sorted(package.rglob("*.py"))}
        wings: dict[str, list[Measured]] = {}
        for file, each in found.items():
            wings.setdefault(file.relative_to(package).parts[0], []).append(each)
            classes.update(each.classes)
        single = package.name == "batchcast"  # one wing of its own
        shown = {} if single else wings
        for wing, files in {**shown, f"src/{package.name}": [*found.values()]}.items():
            private = sum(len(each.private) for each in files)
            once = sum(each.once for each in files)
            share = f"{once / private:5.0%}" if private else "     "
            print(
                f"{wing:24} {len(files):4} files {sum(each.lines for each in files):6,} lines of "
                f"code; {private:5} private functions, {share} used once"
            )
        kept = kept and len(found) <= MOST_FILES
        print()
    doubled = [name for name, many in classes.items() if many > 1]
    print(f"class names that stand for two classes: {len(doubled)}")
    return kept and not doubled


def main(arguments: Sequence[str]) -> int:
    """Print both trees; 1 if this one does not keep what it must."""
    for commit in arguments:
        with TemporaryDirectory() as name:
            git = ["git", "-C", str(ROOT), "archive", commit, "src"]
            archive = subprocess.run(git, capture_output=True, check=True).stdout
            subprocess.run(["tar", "-x", "-C", name], input=archive, check=True)
            print(f"{commit}:")
            told(Path(name))
        print("\nthis tree:")
    return int(not told(ROOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
