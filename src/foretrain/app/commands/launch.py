"""`foretrain export`, `foretrain import`: launch files of trainers from studies, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.output import AsJson, Page
from foretrain.app.question import CommandLine, On, Settings, with_options

Target = Annotated[
    str, typer.Option("--to", metavar="TRAINER", help="A trainer of the catalogue, or a family.")
]
Launcher = Annotated[
    str, typer.Option("--launcher", help="torchrun, slurm, kubernetes or skypilot.")
]
JobName = Annotated[str, typer.Option("--name", help="Of the job and its files.")]
Folder = Annotated[
    Path | None, typer.Option("--output", metavar="FOLDER", help="Write the files there.")
]
Searched = Annotated[
    bool, typer.Option("--search", help="The best plan that is found, not the one that is given.")
]
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Launch scripts and configurations.")
]
Trained = Annotated[
    str, typer.Option("--trainer", help="For which they are written, where it is not clear.")
]
Study = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the study there.")
]


@with_options
def export(
    line: CommandLine,
    *,
    to: Target,
    launcher: Launcher = "torchrun",
    name: JobName = "train",
    search: Searched = False,
    output: Folder = None,
) -> None:
    """Write the files with which a trainer runs the plan of a study."""
    from foretrain.app.output import tell
    from foretrain.app.question import asked_study
    from foretrain.search.export import export as verb
    from foretrain.show.document import of_study
    from foretrain.study.files import write_text
    from foretrain.study.problems import told_of

    line.check()
    asked, known = asked_study(line.study, line.said, free=search), line.known
    with told_of(line.study):
        answer = verb(
            asked, to=to, launcher=launcher, name=name, searched=search, coefficients=known
        )
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for each in answer.files:
            write_text(output / each.name, each.text)
            tell(f"Wrote {output / each.name}.")
    line.answered(asked, answer, of_study(asked, coefficients=known))


def import_(
    files: Files,
    *,
    on: On = None,
    trainer: Trained = "",
    settings: Settings = None,
    output: Study = None,
    as_json: AsJson = False,
    html: Page = None,
) -> None:
    """Read a trainer's launch scripts and configurations as a study."""
    from foretrain.app.output import answered, check_page, tell
    from foretrain.search.import_files import import_ as verb
    from foretrain.search.import_files import settings_of, with_asked
    from foretrain.show.document import provenance
    from foretrain.study.files import write_text
    from foretrain.study.launch_files import read_launch_files
    from foretrain.study.problems import told_of

    found = with_asked(read_launch_files(*files))
    for option, path in (("--output", output), ("--html", html)):
        if path is not None:
            for each in files:
                check_page(path, each, what="file", option=option)
    with told_of(", ".join(map(str, files))):
        answer = verb(
            found,
            on=on or "",
            trainer=trainer,
            settings=settings_of(settings or []),
            home="." if output is None else str(output.parent),
        )
    if output is not None:
        write_text(output, answer.study)
        tell(f"Wrote {output}.")
    answered(found, answer, provenance(found), as_json=as_json, html=html)
