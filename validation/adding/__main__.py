"""What it takes to add something: files and lines touched, by adding it to a copy of the code.

    python -m validation.adding                  # everything that can be added
    python -m validation.adding --only schedule

Each addition is written into a fresh copy of `src/`, and a script then uses it as people would: a
policy simulates, a schedule is estimated, searched and named. The exit status is 1 where one does
not work, or touches more files than it may.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from validation.adding.additions import ADDITIONS, Addition

ROOT = Path(__file__).parents[2]


def added(addition: Addition, root: Path) -> dict[str, int]:
    """Write an addition into a copy of the code; lines of each file that was touched."""
    touched: dict[str, int] = {}
    for name, text in addition.files.items():
        path = root / name
        assert not path.exists(), f"{name} is there already"
        path.write_text(text, "utf-8")
        touched[f"{name} (new)"] = text.count("\n")
    for name, lines in addition.lines.items():
        text = (root / name).read_text("utf-8")
        for after, line in lines:
            assert after in text, f"{name} has no line {after!r}"
            text = text.replace(after, after + line, 1)
        (root / name).write_text(text, "utf-8")
        touched[name] = sum(max(1, line.count("\n")) for _, line in lines)
    return touched


def works(addition: Addition, root: Path) -> str:
    """What is wrong with an addition in use; empty where it works."""
    # The copy comes first, whatever else of foretrain is installed.
    code = f"import sys; sys.path.insert(0, {str(root / 'src')!r})\n{addition.check}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    """Add everything, print what was touched."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=[each.name for each in ADDITIONS])
    only = parser.parse_args().only
    bad = 0
    for addition in ADDITIONS:
        if only not in {None, addition.name}:
            continue
        with TemporaryDirectory() as folder:
            root = Path(folder)
            shutil.copytree(
                ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__")
            )
            touched = added(addition, root)
            wrong = works(addition, root)
        over = addition.most is not None and len(touched) > addition.most
        bar = f" (<= {addition.most})" if addition.most else ""
        told = "does NOT work" if wrong else "TOO MANY" if over else "works"
        print(f"{addition.name}: {len(touched)} files{bar}, {sum(touched.values())} lines; {told}")
        for name, lines in touched.items():
            print(f"    {name}: {lines}")
        if wrong:
            print(wrong)
        bad += bool(wrong) or over
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
