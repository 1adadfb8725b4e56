"""The documentation is true: snippets run, links lead somewhere, every part has its place.

```toml with a title      a file that the page's commands find; a whole study, which must read
```toml without one       part of a study: joined with a small one it must read
```text with a title      a file too, where it is wrong on purpose
```console                 `$ foretrain ...`, `$ python ...`, `$ cp ...` run and print what is below
```python with a title    a module that the page's studies name
```python                  runs; a block with the title "Output" below must be what it prints

A line `...` in what is shown stands for any lines, `...` within a line for any text; how columns
are aligned does not matter.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from validation.parts.pages import plain

from foretrain.app.main import run
from foretrain.study.coefficients import SHIPPED
from foretrain.study.collective_study import read_collective_study
from foretrain.study.ensemble_study import read_ensemble_study
from foretrain.study.queue_study import read_queue_study
from foretrain.study.scale_study import read_scale_study
from foretrain.study.study import read_study, study_from
from tests.needs import needs

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "validation", "benchmarks", "examples", "src")
PAGES = sorted([*ROOT.glob("*.md"), *(p for name in FOLDERS for p in ROOT.glob(f"{name}/**/*.md"))])
REFERENCE = ROOT / "docs" / "reference"

FENCE = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')
PLACE = re.compile(
    r"(?<![\w/.-])((?:src|tests|validation|benchmarks|docs|examples)/(?:[\w.-]+/)*[\w-]+(?:(?:\.\w+)+|/))"
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")

HELD_BY_VALIDATE = {"python -m validation.coverage"}
"""What takes half a minute and `make validate` runs: it compares its page itself."""

SMALL = {
    "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096},
    "cluster": {"name": "dgx-h100", "nodes": 2},
}


@dataclass(frozen=True)
class Snippet:
    language: str
    title: str
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def snippets(page: Path) -> list[Snippet]:
    found = []
    for indent, language, info, text in FENCE.findall(page.read_text()):
        title = TITLE.search(info)
        plain = "\n".join(line.removeprefix(indent) for line in text.splitlines())
        found.append(Snippet(language, title.group(1) if title else "", plain + "\n"))
    return found


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if {item.language for item in snippets(page)} & {*languages}]


def commands(console: str) -> list[tuple[str, str]]:
    """The commands of a terminal session, each with what is shown below it."""
    parts = re.split(r"^\$ ", console.replace("\\\n", ""), flags=re.MULTILINE)[1:]
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts]


def assert_shows(printed: str, shown: str) -> None:
    pattern = re.escape(plain(shown)).replace(r"\.\.\.", ".*?")
    if shown and not re.fullmatch(pattern, plain(printed), re.DOTALL):
        pytest.fail(f"shown:\n{shown}\n\nprinted:\n{printed}")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the examples and the validation, in which a page's snippets run."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "validation").symlink_to(ROOT / "validation")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


NEEDS_TORCH = re.compile(r"^import torch$", re.M)
"""Pages that bring code for PyTorch."""


def lay_files(page: Path, folder: Path) -> None:
    if any(NEEDS_TORCH.search(snippet.text) for snippet in snippets(page)):
        needs("torch")
    for snippet in snippets(page):
        if snippet.title.endswith((".toml", ".py", ".csv", ".sh", ".log")):
            (folder / snippet.title).write_text(snippet.text)


@pytest.mark.parametrize("page", pages_with("toml"), ids=name_of)
def test_toml_snippets_are_studies_or_parts_of_one(page, tmp_path):
    lay_files(page, tmp_path)
    for snippet in snippets(page):
        if snippet.language == "toml":
            part = tomllib.loads(snippet.text)
            if snippet.title:
                kinds = {
                    "jobs": read_queue_study,
                    "ensemble": read_ensemble_study,
                    "scale": read_scale_study,
                    "collective": read_collective_study,
                }
                read = next((kinds[key] for key in kinds if key in part), read_study)
                read(tmp_path / snippet.title)
                continue
            whole = {**SMALL, **part}
            if "workload" in part:
                whole["workload"] = {**SMALL["workload"], **part["workload"]}
            study_from(whole, name_of(page))


@pytest.fixture
def session(monkeypatch, capsys):
    """Runs a command as a terminal of 100 columns would: exit code, stdout and stderr.

    Our own program runs in this process: how it starts, tests/app/ holds.
    """
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))

    def call(program, *arguments):
        if program != "foretrain":
            command = [sys.executable if program == "python" else program, *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, done.stderr
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_commands_print_what_is_shown(page, desk, session):
    lay_files(page, desk)
    sessions = [item.text for item in snippets(page) if item.language == "console"]
    for command, shown in [pair for text in sessions for pair in commands(text)]:
        if command in HELD_BY_VALIDATE:
            continue
        words = shlex.split(command)
        if words[1:3] == ["ensemble", "run"]:
            needs("torch")
        code, out, err = session(*words)
        refused = shown.startswith("error:")
        assert code == (1 if refused else 0), f"{command}\n{err}"
        assert_shows(err if refused else out, shown)


def test_what_is_left_to_validate_is_run_by_it():
    checks = re.search(r"^CHECKS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
    assert {f"python -m validation.{check}" for check in checks} >= HELD_BY_VALIDATE


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_snippets_print_what_is_shown(page, desk, monkeypatch):
    lay_files(page, desk)
    monkeypatch.syspath_prepend(desk)  # where the reader's own modules lie, whatever ran before
    names: dict[str, object] = {"__name__": "snippet"}
    blocks = snippets(page)
    for snippet, following in zip(blocks, [*blocks[1:], None], strict=True):
        if snippet.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(snippet.text, name_of(page), "exec"), names)
            if following and following.title == "Output":
                assert_shows(printed.getvalue(), following.text)


def found_in_pages(pattern: re.Pattern[str]) -> list[tuple[Path, str]]:
    """What a pattern finds, each with the page that it stands on."""
    found = [(page, each) for page in PAGES for each in pattern.findall(page.read_text())]
    assert found
    return found


def test_links_lead_to_files():
    links = [(page, target) for page, target in found_in_pages(LINK) if "://" not in target]
    missing = [(name_of(page), to) for page, to in links if not (page.parent / to).exists()]
    assert not missing


def test_places_that_are_named_are_there():
    named = [(page, place) for page, place in found_in_pages(PLACE) if "tables" not in page.parts]
    assert not [(name_of(page), place) for page, place in named if not (ROOT / place).exists()]


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = found_in_pages(re.compile(r"(?:`|^)make ([a-z]+)", re.MULTILINE))
    assert not [(name_of(page), target) for page, target in named if target not in targets]


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}


def test_every_strategy_has_a_page_that_names_its_file():
    files = {file.name for file in (ROOT / "src/foretrain/strategies").glob("[a-z]*.py")}
    pages = [*REFERENCE.glob("strategies/*.md"), ROOT / "docs/how-to/add-a-strategy.md"]
    told = " ".join(page.read_text() for page in pages)
    assert not {file for file in files if f"strategies/{file}" not in told}


def test_every_command_has_a_heading():
    from foretrain.app.main import app

    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    names |= {group.name for group in app.registered_groups}
    headings = set(re.findall(r"^## `(\w+)", (REFERENCE / "commands.md").read_text(), re.MULTILINE))
    assert names == headings


def test_coefficients_page_lists_every_coefficient():
    from docs.hooks import coefficients_table

    table = coefficients_table()
    assert not {name for name in SHIPPED.known if f"| `{name}` |" not in table}


def test_python_page_lists_every_public_name():
    from docs.hooks import public_names

    import foretrain

    listed = re.findall(r"^::: [\w.]+\.(\w+)$", public_names(), re.MULTILINE)
    assert sorted(listed) == foretrain.__all__


def test_catalogue_page_lists_every_device_and_cluster():
    from docs.hooks import cluster_table, device_table

    from foretrain.study.catalogue import names

    for kind, table in (("devices", device_table()), ("clusters", cluster_table())):
        assert not {name for name in names()[kind] if f"| `{name}` |" not in table}


def test_trainer_page_lists_every_release_and_every_word():
    from docs.hooks import TABLES

    from foretrain.study.catalogue import names
    from foretrain.trainers.vocabulary import ABILITIES, HABITS, OPTIONS

    page = TABLES["<!-- trainers -->"]()
    assert not {name for name in names()["trainers"] if f"| `{name}` |" not in page}
    words = "".join(TABLES[f"<!-- {each} -->"]() for each in ("abilities", "options", "habits"))
    assert not {key for key in (*ABILITIES, *OPTIONS, *HABITS) if f"| `{key}` |" not in words}


def known_references() -> set[str]:
    return set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "docs/references.bib").read_text(), re.M))


def first_words(sources: str) -> set[str]:
    """What a list of sources, parted by semicolons, says first of each: its key."""
    return {re.split(r"[,.:\s(]", part.strip())[0] for part in sources.split(";")}


def test_every_source_that_a_docstring_names_is_in_the_references():
    code = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    told = " ".join(re.findall(r"Sources?: (.*?)(?:\n\s*\n|\"\"\")", code, re.DOTALL))
    undated = set(re.findall(r"\b(?:nvidia-\w+|cutlass|babelstream)\b", told))
    dated = set(re.findall(r"\b[a-z]+(?:19|20)[0-9]{2}\b", code))
    assert dated
    assert dated | undated <= known_references()


def test_every_source_of_the_glossary_is_in_the_references():
    keys = set(
        re.findall(r"^@\w+\{([^,]+)", (ROOT / "docs/references.bib").read_text(), re.MULTILINE)
    )
    rows = re.findall(
        r"^\|[^|\n]*\|[^|\n]*\| ([\w, -]+) \|$",
        (REFERENCE / "glossary.md").read_text(),
        re.MULTILINE,
    )
    named = {key for row in rows for key in row.split(", ")} - {"source"}
    assert named
    assert named <= keys


def test_every_published_coefficient_names_a_reference():
    published = [source for source in SHIPPED.known.values() if source.kind == "published"]
    assert {key for source in published for key in first_words(source.source)} <= (
        known_references()
    )


def test_every_decision_page_has_a_number_of_its_own():
    numbers = [page.name[:3] for page in sorted(ROOT.glob("docs/decisions/0*.md"))]
    assert numbers == [f"{number:03}" for number in range(1, len(numbers) + 1)]
